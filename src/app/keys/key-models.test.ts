import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../../test/support/http/app.ts'

const messages = [{ role: 'user', content: 'hello' }]
let app: RunningApp

beforeAll(async () => {
  app = await startApp({
    builtinModel: false,
    models: [
      { engine: 'fake', id: 'big', script: 'from-request', aliases: ['default', 'gpt-4o', 'claude-opus-*'] },
      { engine: 'fake', id: 'small', script: 'from-request', aliases: ['claude-*'] },
    ],
    server: {
      apiKeys: [
        { key: 'limited', name: 'limited', models: ['claude-haiku-4'] },
        { key: 'typo', name: 'typo', models: ['small', 'smal'] },
        { key: 'past', name: 'past', expiresAt: '2020-01-01' },
        'plain',
      ],
    },
  })
})
afterAll(() => app.close())

function call(path: string, { key = 'limited', body, headers = {} }: { key?: string; body?: object; headers?: object } = {}) {
  return fetch(`${app.url}${path}`, {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  })
}

/** What each route is called with, apart from its model. */
const calls: readonly [path: string, body: object][] = [
  ['/v1/chat/completions', { messages }],
  ['/v1/completions', { prompt: 'hello' }],
  ['/v1/embeddings', { input: 'hello' }],
  ['/v1/rerank', { query: 'a', documents: ['b'] }],
  ['/v1/score/evaluation', { messages: ['a'] }],
  ['/v1/messages', { messages, max_tokens: 10 }],
  ['/v1/messages/count_tokens', { messages }],
  ['/v1/responses', { input: 'hello' }],
  ['/v1/responses/input_tokens', { input: 'hello' }],
  ['/v1/responses/compact', { input: 'hello' }],
  ['/tokenize', { content: 'hello' }],
  ['/detokenize', { tokens: [1] }],
  ['/apply-template', { messages }],
]
const stackCalls: readonly [path: string, body: object][] = [
  ['/v1/inference/chat-completion', { messages }],
  ['/v1/inference/completion', { content: 'hello' }],
  ['/v1/inference/embeddings', { contents: ['hello'] }],
]

describe('a key with models of its own', () => {
  test.each(calls)('gets 404 from %s for another model, which the message does not list', async (path, body) => {
    const reply = await call(path, { body: { ...body, model: 'gpt-4o' } })
    expect(reply.status).toBe(404)
    const text = await reply.text()
    expect(text).toContain("model 'gpt-4o' not found; available: small")
    expect(text).not.toContain('big')
  })

  test.each(stackCalls)('gets 404 from %s for another model', async (path, body) => {
    const reply = await call(path, { body: { ...body, model_id: 'gpt-4o' } })
    expect(reply.status).toBe(404)
    expect(await reply.text()).toContain("model 'gpt-4o' not found; available: small")
  })

  test('gets the code that clients look for', async () => {
    const reply = await call('/v1/chat/completions', { body: { messages, model: 'big' } })
    expect(await reply.json()).toMatchObject({ error: { code: 'model_not_found', param: 'model' } })
  })

  test.each(['/v1/models/big', '/v1/providers/big', '/v1/model?model=big', '/props?model=big', '/v1/templates?model=big'])(
    'gets 404 from %s',
    async (path) => {
      expect((await call(path)).status).toBe(404)
    },
  )

  test('lists only these, in each form', async () => {
    const ids = async (headers: object) => {
      const { data } = (await (await call('/v1/models', { headers })).json()) as { data: { id: string }[] }
      return JSON.stringify(data.map(({ id }) => id))
    }
    expect(await ids({})).not.toContain('big')
    expect(await ids({ 'anthropic-version': '2023-06-01' })).not.toContain('big')
    expect(await (await call('/v1/models', { headers: { 'x-llamastack-client-version': '0.2' } })).text()).not.toContain('big')
    expect(await (await call('/v1/providers')).text()).not.toContain('big')
  })

  test('uses them by every name that they have, also where another model has the name for others', async () => {
    const modelOf = async (model: string, key: string) => {
      const reply = await call('/v1/chat/completions', { key, body: { messages, model } })
      return ((await reply.json()) as { model: string }).model
    }
    for (const name of ['small', 'claude-haiku-4', 'claude-sonnet-4']) expect(await modelOf(name, 'limited')).toBe('small')
    expect(await modelOf('claude-opus-4', 'limited')).toBe('small')
    expect(await modelOf('claude-opus-4', 'plain')).toBe('big')
  })

  test('gets one of them where it names none', async () => {
    const reply = await call('/v1/model')
    expect(await reply.json()).toMatchObject({ id: 'small' })
  })
})

test('a name that no model has is in the log, without its key', () => {
  const line = app.logLines().find(({ msg }) => msg === 'a key may use models that are not there')
  expect(line).toMatchObject({ level: 40, setting: 'server.apiKeys[1].models', unknown: ['smal'] })
  expect(JSON.stringify(line)).not.toContain('typo')
})

test('a key without models of its own sees all', async () => {
  const reply = await call('/v1/models', { key: 'plain' })
  expect(await reply.text()).toMatch(/big.*small/)
})

test('a configured key that has expired is refused', async () => {
  const reply = await call('/v1/models', { key: 'past' })
  expect(reply.status).toBe(401)
  expect(await reply.text()).toContain('the API key has expired')
})
