import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { openTestServer } from '../../../test/support/http/test-server.ts'
import { allScopes } from '../../contract/principal.ts'
import type { CapturedRequest } from './capture.ts'

const hashOf = (key: string) => hash('sha256', key)

function open() {
  const kept: { readonly name: string; readonly request: CapturedRequest }[] = []
  const server = openTestServer({ capture: (name, request) => void kept.push({ name, request }), auth: { apiKeys: [] } })
  return { ...server, kept }
}

const chat = { model: 'default', messages: [{ role: 'user', content: 'hi' }] }

test('a request is kept as it came, without secrets, and with its status', async () => {
  const { app, kept } = open()
  const headers = { 'user-agent': 'OpenAI/Python 1.2', authorization: 'Bearer sk-1', 'x-request-id': 'my/id' }
  const payload = { ...chat, stream: true, api_key: 'sk-2' }
  await app.inject({ method: 'POST', url: '/v1/chat/completions?key=sk-3', headers, payload })
  await expect.poll(() => kept).toHaveLength(1)
  expect(kept[0]?.name).toMatch(/^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z-my_id$/)
  expect(kept[0]?.request).toMatchObject({
    client: 'OpenAI',
    version: '1.2',
    how: expect.stringMatching(/^captured .*, request my\/id, answered 200$/),
    method: 'POST',
    path: '/v1/chat/completions?key=***',
    headers: { authorization: '***', 'user-agent': 'OpenAI/Python 1.2' },
    body: { ...chat, stream: true, api_key: '***' },
  })
})

test.each([
  ['/v1/chat/completions', '{"model":', 400, null],
  ['/v1/chat/completions', '{"model":"nope"}', 400, { model: 'nope' }],
  ['/v1/nothing', '{"model":"nope"}', 404, null],
  // A route for forms, of which nothing is collected.
  ['/v1/audio/transcriptions', '{"model":"nope"}', 415, null],
])('so is one that is refused: %s %s', async (url, payload, status, body) => {
  const { app, kept } = open()
  await app.inject({ method: 'POST', url, payload, headers: { 'content-type': 'application/json' } })
  await expect.poll(() => kept).toHaveLength(1)
  expect(kept[0]?.request).toMatchObject({ path: url, how: expect.stringContaining(`answered ${status}`), body })
})

test.each<[string, { readonly url: string; readonly key?: string }, boolean]>([
  ['a key that may do it', { url: '/v1/models', key: 'sk-admin' }, true],
  ['no key', { url: '/v1/models' }, false],
  ['a wrong key', { url: '/v1/models', key: 'sk-wrong' }, false],
  ['a key without the scope', { url: '/api/keys', key: 'sk-user' }, false],
])('a request with %s says whether its caller was allowed that', async (_, { url, key }, isAllowed) => {
  const kept: CapturedRequest[] = []
  const apiKeys = [
    { hash: hashOf('sk-admin'), scopes: allScopes },
    { hash: hashOf('sk-user'), scopes: new Set(['public', 'inference'] as const) },
  ]
  const { app } = openTestServer({ capture: (_name, request) => void kept.push(request), auth: { apiKeys } })
  await app.inject({ url, headers: key === undefined ? {} : { authorization: `Bearer ${key}` } })
  await expect.poll(() => kept).toMatchObject([{ isAllowed }])
})

test('health checks and metrics are not kept', async () => {
  const { app, kept } = open()
  for (const url of ['/health', '/ready', '/metrics', '/', '/v1/models']) await app.inject(url)
  await expect.poll(() => kept.map(({ request }) => request.path)).toEqual(['/v1/models'])
})
