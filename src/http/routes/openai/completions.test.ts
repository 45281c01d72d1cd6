import OpenAI, { NotFoundError } from 'openai'
import { describe, expect, test } from 'vitest'
import { openResponsesServer } from '../../../../test/support/http/responses-server.ts'
import { openTestServer } from '../../../../test/support/http/test-server.ts'
import { openTestStore } from '../../../../test/support/test-store.ts'
import { hashApiKey } from '../../../app/keys/made-keys.ts'
import { createFakeEngine } from '../../../engine/fake/engine.ts'

const model = 'default'
const hi = [{ role: 'user' as const, content: 'hi' }]
const kept = { model, messages: hi, store: true }

async function open(options: Parameters<typeof openResponsesServer>[0] = {}) {
  const server = await openResponsesServer(options)
  const baseURL = `http://127.0.0.1:${await server.listen()}/v1`
  const clientOf = (apiKey: string) => new OpenAI({ baseURL, apiKey, maxRetries: 0 })
  const { completions } = clientOf('unused').chat
  return { ...server, completions, clientOf }
}

describe('a chat completion with store', () => {
  test('is found as it was answered, with what was asked', async () => {
    const { completions } = await open()
    const { id, ...answered } = await completions.create({
      ...kept,
      messages: [{ role: 'system', content: 'Be brief.' }, ...hi],
      n: 2,
      temperature: 0.5,
      metadata: { topic: 'sea' },
    })
    expect(answered.choices).toHaveLength(2)
    expect(await completions.retrieve(id)).toEqual({
      id,
      ...answered,
      request_id: expect.any(String),
      temperature: 0.5,
      top_p: null,
      presence_penalty: null,
      frequency_penalty: null,
      seed: null,
      tools: null,
      tool_choice: null,
      response_format: null,
      service_tier: null,
      input_user: null,
      metadata: { topic: 'sea' },
      input_messages: [{ role: 'system', content: 'Be brief.' }, ...hi],
    })
  })

  test('is stored when its stream has ended, as if it had not been streamed', async () => {
    const { completions } = await open({ engine: createFakeEngine({ script: 'from-request', toolFormat: 'hermes' }) })
    const tools = [{ type: 'function' as const, function: { name: 'f', parameters: { type: 'object' } } }]
    const content = JSON.stringify({ raw: 'Well: <tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>' })
    const body = { ...kept, messages: [{ role: 'user' as const, content }], tools, n: 2, logprobs: true, top_logprobs: 1 }
    const { id: wholeId } = await completions.create(body)
    const stream = completions.stream(body)
    const { id } = await stream.finalChatCompletion()
    const timeless = ({ choices }: OpenAI.ChatCompletion) =>
      choices.map(({ message, ...choice }) => ({
        ...choice,
        message: { ...message, tool_calls: message.tool_calls?.map((call) => ({ ...call, id: '' })) },
      }))
    const [whole, streamed] = [await completions.retrieve(wholeId), await completions.retrieve(id)]
    expect(timeless(streamed)).toEqual(timeless(whole))
    expect(streamed).toMatchObject({ usage: whole.usage, tools })
    const called = { content: 'Well: ', tool_calls: [{ function: { name: 'f', arguments: '{"a": 1}' } }] }
    const choice = { finish_reason: 'tool_calls', message: called, logprobs: { content: expect.any(Array) } }
    expect(streamed.choices).toMatchObject([choice, choice])
  })

  test('lists its messages in pages, the first first', async () => {
    const { completions } = await open()
    const parts = [{ type: 'text' as const, text: 'hi' }]
    const messages = [
      ...hi,
      { role: 'assistant' as const, content: 'hello' },
      { role: 'user' as const, content: parts, name: 'ann' },
    ]
    const { id } = await completions.create({ ...kept, messages })
    const found = []
    for await (const message of completions.messages.list(id, { limit: 2 })) found.push(message)
    expect(found).toEqual([
      { id: `${id}-0`, role: 'user', content: 'hi', content_parts: null },
      { id: `${id}-1`, role: 'assistant', content: 'hello', content_parts: null },
      { id: `${id}-2`, role: 'user', name: 'ann', content: null, content_parts: parts },
    ])
    expect((await completions.messages.list(id, { order: 'desc', limit: 1 })).data).toEqual([found[2]])
  })

  test('gets other metadata, and is gone when it is deleted', async () => {
    const { completions } = await open()
    const { id } = await completions.create({ ...kept, metadata: { topic: 'sea', tone: 'calm' } })
    expect(await completions.update(id, { metadata: { topic: 'hills' } })).toMatchObject({ id, choices: [{ index: 0 }] })
    expect(await completions.retrieve(id)).toMatchObject({ metadata: { topic: 'hills' } })
    expect(await completions.delete(id)).toEqual({ id, object: 'chat.completion.deleted', deleted: true })
    const calls = [
      completions.retrieve(id),
      completions.update(id, { metadata: {} }),
      completions.delete(id),
      completions.messages.list(id),
    ]
    for (const outcome of await Promise.allSettled(calls)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(NotFoundError) })
    }
  })

  test('is not there without store, and not when it failed', async () => {
    const { completions } = await open()
    const { id } = await completions.create({ model, messages: hi, store: false })
    await expect(completions.retrieve(id)).rejects.toMatchObject({ status: 404, message: expect.stringContaining(id) })
    const failing = JSON.stringify({ chunks: ['a', 'b'], failAfter: 1 })
    await completions.create({ ...kept, messages: [{ role: 'user', content: failing }] }).catch(() => undefined)
    expect((await completions.list()).data).toEqual([])
  })

  test('is there without store where all are kept, but not with false', async () => {
    const { completions } = await open({ keepsCompletions: true })
    const { id } = await completions.create({ model, messages: hi })
    await completions.create({ model, messages: hi, store: false })
    const { data } = await completions.list()
    expect(data.map((completion) => completion.id)).toEqual([id])
  })
})

describe('the list of chat completions', () => {
  test('has pages, the oldest first, of a model and of entries in the metadata', async () => {
    const { completions } = await open()
    const metadata = [{ n: '0' }, { n: '1', topic: 'sea [&=]' }, { n: '2', topic: 'sea [&=]' }]
    for (const each of metadata) await completions.create({ ...kept, metadata: each })
    const numbers = async (query: OpenAI.ChatCompletionListParams) => {
      const found = []
      for await (const {
        metadata: { n },
      } of completions.list(query) as AsyncIterable<{ metadata: { n: string } }>)
        found.push(n)
      return found.join('')
    }
    expect([
      await numbers({ limit: 2 }),
      await numbers({ limit: 1, order: 'desc' }),
      await numbers({ metadata: { topic: 'sea [&=]' } }),
      await numbers({ metadata: { topic: 'sea [&=]', n: '2' } }),
      await numbers({ model: 'default' }),
      await numbers({ model: 'org/fake' }),
      await numbers({ model: 'other' }),
    ]).toEqual(['012', '210', '12', '2', '012', '012', ''])
  })

  test('begins with the newest for clients of llama-stack', async () => {
    const { app, completions } = await open()
    const ids: string[] = []
    for (const _ of [1, 2]) ids.push((await completions.create(kept)).id)
    const headers = { 'user-agent': 'LlamaStackClient/JS 0.7.3' }
    const { data } = (await app.inject({ url: '/v1/chat/completions', headers })).json()
    expect(data.map(({ id }: { readonly id: string }) => id)).toEqual(ids.toReversed())
  })

  test('refuses what it cannot read, by name', async () => {
    const { call } = await open()
    const refused = async (query: string) => (await call('GET', `/v1/chat/completions?${query}`)).body
    expect(await refused('limit=1001')).toMatchObject({ error: { param: 'limit' } })
    expect(await refused('order=up')).toMatchObject({ error: { param: 'order' } })
    expect(await refused('metadata[a]=1&metadata[a]=2')).toMatchObject({ error: { param: 'metadata.a' } })
    expect(await refused('after=chatcmpl-none')).toMatchObject({ error: { code: 'not_found' } })
  })
})

test('another key sees nothing of a chat completion', async () => {
  const apiKeys = ['a', 'b'].map((key) => ({ hash: hashApiKey(key), scopes: new Set(['inference'] as const) }))
  const { clientOf } = await open({ auth: { apiKeys } })
  const { id } = await clientOf('a').chat.completions.create(kept)
  const { completions } = clientOf('b').chat
  const calls = [
    completions.retrieve(id),
    completions.update(id, { metadata: {} }),
    completions.delete(id),
    completions.messages.list(id),
  ]
  for (const outcome of await Promise.allSettled(calls)) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { status: 404 } })
  }
  expect((await completions.list()).data).toEqual([])
  expect(await clientOf('a').chat.completions.retrieve(id)).toMatchObject({ id })
})

test('without a store, store true is refused with the setting that has none, and nothing is found', async () => {
  const { app } = openTestServer()
  const post = await app.inject({ method: 'POST', url: '/v1/chat/completions', payload: kept })
  expect([post.statusCode, post.json()]).toMatchObject([
    400,
    { error: { code: 'unsupported_field', param: 'store', message: expect.stringContaining('storage.database') } },
  ])
  const list = await app.inject('/v1/chat/completions')
  expect([list.statusCode, list.json()]).toMatchObject([200, { object: 'list', data: [], has_more: false }])
  expect((await app.inject('/v1/chat/completions/chatcmpl-1/messages')).statusCode).toBe(404)
})

test('what cannot be stored is answered all the same, and logged', async () => {
  const store = await openTestStore()
  const save = async () => {
    throw new Error('the disk is full')
  }
  const failing = { ...store, completions: { ...store.completions, save } }
  const { completions, logLines } = await open({ store: failing })
  const { choices } = await completions.create(kept)
  expect(choices[0]?.message.content).toBe('hi')
  const stream = completions.stream(kept)
  expect((await stream.finalChatCompletion()).choices[0]?.message.content).toBe('hi')
  const logged = logLines.filter((line) => line.includes('a chat completion could not be stored'))
  expect(logged).toHaveLength(2)
  expect(logged[0]).toContain('the disk is full')
})

test('one that was cancelled is kept with what it said, and one whose client has left is not', async () => {
  const { call, completions, watched } = await open()
  const content = JSON.stringify({ chunks: ['a', 'b'], delayMs: 3_600_000 })
  const endless = { ...kept, messages: [{ role: 'user' as const, content }] }
  const leaving = new AbortController()
  const left = completions.create(endless, { signal: leaving.signal }).catch(() => undefined)
  await watched.started()
  leaving.abort()
  await left
  await watched.ended()
  const cancelled = completions.create({ ...endless, cancel_id: 'c' } as typeof endless)
  await watched.started()
  await call('POST', '/api/inference/cancel', { cancel_id: 'c' })
  const { id } = await cancelled
  expect((await completions.list()).data).toMatchObject([{ id, choices: [{ finish_reason: 'length' }] }])
})
