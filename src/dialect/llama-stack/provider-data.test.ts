import { describe, expect, test } from 'vitest'
import type { AppError } from '../../contract/errors.ts'
import { stackDialects } from './dialects.ts'
import { readProviderData } from './provider-data.ts'

const header = 'x-llamastack-provider-data'
const read = (value: unknown) => readProviderData({ [header]: JSON.stringify(value) })

describe('the header with keys', () => {
  test('has them by provider, as keys or tokens', () => {
    const { callerKeys, ignored } = read({ openai_api_key: 'a', vllm_api_token: 'b', llama_server_api_key: 'c' })
    expect(['openai', 'vllm', 'llama_server', 'together'].map((name) => callerKeys?.get(name))).toEqual([
      'a',
      'b',
      'c',
      undefined,
    ])
    expect(ignored).toEqual([])
  })

  test('may be absent or empty', () => {
    expect(readProviderData({})).toEqual({ ignored: [] })
    expect(read({ openai_api_key: null, vllm_api_token: '' })).toEqual({ ignored: [] })
  })

  test('has fields that mean nothing here, which are listed', () => {
    expect(read({ passthrough_url: 'http://elsewhere', openai_api_key: 'a' }).ignored).toEqual([`${header}.passthrough_url`])
  })

  test.each<[string, string]>([
    ['{"openai_api_key": "sk-secret', header],
    ['["sk-secret"]', header],
    ['"sk-secret"', header],
    ['{"openai_api_key": ["sk-secret"]}', `${header}.openai_api_key`],
    ['{"openai_api_key": "sk-secret\\r\\nx: y"}', `${header}.openai_api_key`],
    ['{"openai_api_key": "sk-secret schlüssel"}', `${header}.openai_api_key`],
  ])('is refused by name when it is %s, without what it says', (value, param) => {
    let failure: AppError | undefined
    try {
      readProviderData({ [header]: value })
    } catch (error) {
      failure = error as AppError
    }
    expect(failure).toMatchObject({ code: 'invalid-request', param })
    expect(`${failure?.message}${failure?.stack}${String(failure?.cause)}`).not.toContain('sk-secret')
  })
})

test('every request of a call has the keys, and errors about them name the header', () => {
  const body = { model_id: 'm', content_batch: ['a', 'b'] }
  const call = stackDialects.batchCompletion.decode(
    { body, headers: { [header]: '{"vllm_api_token": "k", "other": 1}' } },
    { id: 'x' },
  )
  if (call instanceof Promise) throw new Error('expected a synchronous dialect')
  expect(call.requests.map(({ callerKeys }) => callerKeys?.get('vllm'))).toEqual(['k', 'k'])
  expect(call.ignored).toEqual([`${header}.other`])
  expect([call.nameOf(['callerKeys']), call.nameOf(['model'])]).toEqual([header, 'model_id'])
})
