import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { openResponsesServer } from '../../../../test/support/http/responses-server.ts'
import { openTestServer } from '../../../../test/support/http/test-server.ts'

const hourMs = 3_600_000
const hello = { type: 'message', role: 'user', content: 'hello' }

type WireConversation = { readonly id: string; readonly metadata: object }
type WireList = { readonly data: readonly { readonly id: string; readonly role: string }[]; readonly has_more: boolean }

async function open(body: object = { items: [hello] }) {
  const server = await openResponsesServer()
  const { body: made } = await server.call('POST', '/v1/conversations', body)
  const { id } = made as WireConversation
  const url = `/v1/conversations/${id}`
  const list = async (query = '') => (await server.call('GET', `${url}/items${query}`)).body as WireList
  return { ...server, id, url, made, list }
}

describe('a conversation', () => {
  test('is created with items and metadata, which can be replaced', async () => {
    const { call, url, id, made } = await open({ items: [hello], metadata: { topic: 'a' } })
    expect(made).toMatchObject({ id: expect.stringMatching(/^conv_/), object: 'conversation', metadata: { topic: 'a' } })
    expect(await call('POST', url, { metadata: { topic: 'b' } })).toMatchObject({ body: { id, metadata: { topic: 'b' } } })
    expect(await call('GET', url)).toMatchObject({ status: 200, body: { id, metadata: { topic: 'b' } } })
  })

  test('is gone when it is deleted', async () => {
    const { call, url, id } = await open()
    expect((await call('DELETE', url)).body).toEqual({ id, object: 'conversation.deleted', deleted: true })
    const gone = { status: 404, body: { error: { message: `Conversation with id '${id}' not found.` } } }
    for (const method of ['GET', 'DELETE'] as const) expect(await call(method, url)).toMatchObject(gone)
    expect(await call('POST', '/v1/responses', { model: 'default', input: 'x', conversation: id })).toMatchObject(gone)
  })

  test('lists its items in pages, the newest first', async () => {
    const { call, url, list } = await open()
    const added = await call('POST', `${url}/items`, { items: [hello, hello] })
    expect(added).toMatchObject({ status: 200, body: { object: 'list', has_more: false } })
    const { data } = await list('?order=asc')
    expect(data).toHaveLength(3)
    const first = await list('?limit=2')
    expect([first.data.map(({ id }) => id), first.has_more]).toEqual([[data[2]?.id, data[1]?.id], true])
    expect((await list(`?after=${data[1]?.id}`)).data.map(({ id }) => id)).toEqual([data[0]?.id])
    expect((await call('GET', `${url}/items?limit=1001`)).status).toBe(400)
  })

  test('gives and deletes one item', async () => {
    const { call, url, list } = await open()
    const [item] = (await list()).data
    expect((await call('GET', `${url}/items/${item?.id}`)).body).toEqual(item)
    expect((await call('DELETE', `${url}/items/${item?.id}`)).body).toMatchObject({ object: 'conversation' })
    for (const method of ['GET', 'DELETE'] as const) expect((await call(method, `${url}/items/${item?.id}`)).status).toBe(404)
  })
})

describe('a response in a conversation', () => {
  test('sees it, and adds its input and output', async () => {
    const { create, id, list, seen } = await open()
    expect(await create({ input: 'one', conversation: id })).toMatchObject({ conversation: { id } })
    await create({ input: 'two', conversation: { id } })
    expect(seen[1]).toEqual(['user: hello', 'user: one', 'assistant: one', 'user: two'])
    expect((await list('?order=asc')).data.map(({ role }) => role)).toEqual(['user', 'user', 'assistant', 'user', 'assistant'])
  })

  test('locks it for others until it has ended', async () => {
    const { create, call, id, watched } = await open()
    const body = { model: 'default', input: 'x', conversation: id }
    const running = await create({ input: JSON.stringify({ raw: 'late', delayMs: hourMs }), conversation: id, background: true })
    await watched.started()
    const refused = await call('POST', '/v1/responses', body)
    expect(refused).toMatchObject({ status: 400, body: { error: { code: 'conversation_locked', param: 'conversation' } } })
    await call('POST', `/v1/responses/${running.id}/cancel`)
    expect((await call('POST', '/v1/responses', body)).status).toBe(200)
  })
})

test('another key sees nothing of a conversation', async () => {
  const keys = ['alice', 'bob'].map((name) => ({
    hash: createHash('sha256').update(name).digest('hex'),
    name,
    scopes: new Set(['inference'] as const),
  }))
  const { call } = await openResponsesServer({ auth: { apiKeys: keys } })
  const { body } = await call('POST', '/v1/conversations', { items: [hello] }, 'alice')
  const { id } = body as WireConversation
  const url = `/v1/conversations/${id}`
  const calls = [
    ['GET', url],
    ['DELETE', url],
    ['GET', `${url}/items`],
    ['POST', url, { metadata: {} }],
    ['POST', `${url}/items`, { items: [hello] }],
    ['POST', '/v1/responses', { model: 'default', input: 'x', conversation: id }],
  ] as const
  for (const [method, path, sent] of calls) expect((await call(method, path, sent, 'bob')).status).toBe(404)
  expect((await call('GET', `${url}/items`, undefined, 'alice')).body).toMatchObject({ data: [{ role: 'user' }] })
})

test('without a store, conversations are refused with the setting that has none', async () => {
  const { app } = openTestServer()
  const reply = await app.inject({ method: 'POST', url: '/v1/conversations', payload: {} })
  expect([reply.statusCode, reply.json()]).toMatchObject([
    400,
    { error: { message: expect.stringContaining('storage.database') } },
  ])
})
