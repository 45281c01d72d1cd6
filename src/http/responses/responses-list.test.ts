import LlamaStackClient from 'llama-stack-client'
import { expect, test } from 'vitest'
import { openResponsesServer } from '../../../test/support/http/responses-server.ts'
import { openTestServer } from '../../../test/support/http/test-server.ts'
import { hashApiKey } from '../../app/keys/made-keys.ts'

const keys = ['a', 'b'].map((key) => ({ hash: hashApiKey(key), scopes: new Set(['inference'] as const) }))

test('the official client of llama-stack pages through the responses that are stored for its key', async () => {
  const { create, listen } = await openResponsesServer()
  const made = [await create({ input: 'one' }), await create({ input: 'two' }), await create({ input: 'three' })]
  await create({ input: 'not kept', store: false })
  const client = new LlamaStackClient({ baseURL: `http://127.0.0.1:${await listen()}`, maxRetries: 0 })
  const found = []
  for await (const response of client.responses.list({ limit: 2, order: 'asc' })) found.push(response)
  expect(new Set(found.map(({ id }) => id))).toEqual(new Set(made.map(({ id }) => id)))
  expect(found[0]).toMatchObject({ object: 'response', status: 'completed', output: [{ type: 'message' }] })
})

test('each caller sees its own', async () => {
  const { create, call } = await openResponsesServer({ auth: { apiKeys: keys } })
  const { id } = await create({ input: 'hi' }, 'a')
  expect((await call('GET', '/v1/responses', undefined, 'a')).body).toMatchObject({
    data: [{ id }],
    first_id: id,
    has_more: false,
  })
  expect((await call('GET', '/v1/responses', undefined, 'b')).body).toMatchObject({ data: [], has_more: false })
})

test('a list can be of the responses of one model, by its id or an alias, or with entries in their metadata', async () => {
  const { create, call } = await openResponsesServer()
  const { id } = await create({ input: 'hi', metadata: { topic: 'sea' } })
  await create({ input: 'hi', metadata: { topic: 'hills' } })
  const count = async (query: string) => {
    const { body } = await call('GET', `/v1/responses?${query}`)
    return (body as { readonly data: readonly object[] }).data.length
  }
  expect([await count('model=default'), await count('model=org/fake'), await count('model=other')]).toEqual([2, 2, 0])
  expect((await call('GET', '/v1/responses?metadata[topic]=sea')).body).toMatchObject({ data: [{ id }], has_more: false })
})

test('a background response is listed as it is now', async () => {
  const { create, call, watched } = await openResponsesServer()
  const input = JSON.stringify({ chunks: ['a', 'b'], delayMs: 3_600_000 })
  const { id } = await create({ input, background: true })
  await watched.started()
  expect((await call('GET', '/v1/responses')).body).toMatchObject({ data: [{ id, status: 'in_progress' }] })
  await call('POST', `/v1/responses/${id}/cancel`)
})

test('without a store the list is empty', async () => {
  const reply = await openTestServer().app.inject('/v1/responses')
  expect([reply.statusCode, reply.json().data]).toEqual([200, []])
})
