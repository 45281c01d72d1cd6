import { expect, test, vi } from 'vitest'
import { openHub } from '../../test/support/upstream/hub.ts'
import type { ConfiguredModel } from '../config/models.ts'
import { lookUp } from './look-up.ts'

function look(file: string, token?: string) {
  const source = [{ type: 'hf', owner: 'owner', repo: 'some', file }]
  const describeMedia = async () => ({ modalities: { image: true, audio: false } })
  const options = { models: { all: () => [] }, token, signal: new AbortController().signal, describeMedia }
  return lookUp({ engine: 'llama', id: 'm', source } as unknown as ConfiguredModel, options)
}

test('a file is looked up in its repository, without fetching it', async () => {
  const hub = await openHub()
  expect(await look('x-Q8_0.gguf')).toMatchObject({ id: 'm', file: 'x-Q8_0.gguf', isGguf: true, readsImages: true })
  await expect(look('none.gguf')).rejects.toMatchObject({
    code: 'model-not-found',
    message: expect.stringContaining('owner/some has no file none.gguf'),
  })
  expect(hub.seen.every(({ url }) => url.startsWith('/api/models/'))).toBe(true)
})

test('a repository is asked with the token of the request, or else with that of the environment', async () => {
  const hub = await openHub()
  await look('x-Q8_0.gguf')
  vi.stubEnv('HF_TOKEN', 'of-environment')
  await look('x-Q8_0.gguf')
  await look('x-Q8_0.gguf', 'of-request')
  const tokens = hub.seen.map(({ headers }) => headers.authorization)
  expect(tokens).toEqual([undefined, 'Bearer of-environment', 'Bearer of-request'])
})
