import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { openWatchedServer, sendChat, type TestServerOptions } from '../../../../test/support/http/test-server.ts'
import type { Bus, Topic } from '../../../contract/server/shared.ts'

const words = Array.from({ length: 20 }, (_, index) => `w${index} `)
const body = (script: object) =>
  JSON.stringify({ model: 'default', stream: true, messages: [{ role: 'user', content: JSON.stringify(script) }] })
const whole = { chunks: words }
/** It ends only when it is cancelled. */
const endless = { chunks: [...words, ...words], delayMs: 3_600_000 }

async function open(options: Partial<TestServerOptions> = {}) {
  const server = await openWatchedServer(options)
  const url = `http://127.0.0.1:${server.port}`
  const ask = (id: string, script: object, headers: Record<string, string> = {}, signal?: AbortSignal) =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-conversation-id': id, ...headers },
      body: body(script),
      ...(signal !== undefined && { signal }),
    })
  const read = (id: string, from = 0, headers = {}) => fetch(`${url}/v1/stream?conv_id=${id}&from=${from}`, { headers })
  const lookup = async (ids: readonly string[], headers = {}) => {
    const reply = await fetch(`${url}/v1/streams/lookup`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ conversation_ids: ids }),
    })
    return (await reply.json()) as readonly {
      readonly conversation_id: string
      readonly is_done: boolean
      readonly total_bytes: number
    }[]
  }
  const end = (id: string, headers = {}) => fetch(`${url}/v1/stream?conv_id=${id}`, { method: 'DELETE', headers })
  return { ...server, ...server.watched, url, ask, read, lookup, end }
}

describe('a stream with a conversation id', () => {
  test('is read again from each byte, as it was sent', async () => {
    const { ask, read, lookup } = await open()
    const sent = Buffer.from(await (await ask('a', whole)).arrayBuffer())
    expect(await lookup(['a', 'b'])).toEqual([
      {
        conversation_id: 'a',
        is_done: true,
        total_bytes: sent.length,
        started_at: expect.any(Number),
        completed_at: expect.any(Number),
      },
    ])
    for (let from = 0; from <= sent.length; from += 37) {
      expect(Buffer.from(await (await read('a', from)).arrayBuffer()).equals(sent.subarray(from)), String(from)).toBe(true)
    }
    const reply = await read('a', sent.length + 10)
    expect([reply.headers.get('content-type'), await reply.text()]).toEqual(['text/event-stream; charset=utf-8', ''])
  })

  test('goes on without its client, for two readers, and its generation holds its slot until it ends', async () => {
    const { ask, read, lookup, ended, started } = await open()
    const left = new AbortController()
    const reply = await ask('a::m', { chunks: words, delayMs: 20 }, {}, left.signal)
    await started()
    const first = (await reply.body?.getReader().read())?.value ?? new Uint8Array()
    left.abort()
    // Its name is found with a model and without.
    const [one, two] = await Promise.all([read('a'), read('a::m', first.length)])
    const [everything, rest] = await Promise.all([one.text(), two.text()])
    expect(everything).toBe(Buffer.from(first).toString() + rest)
    expect(everything.trimEnd()).toMatch(/data: \[DONE\]$/)
    const text = [...everything.matchAll(/"content":"([^"]*)"/g)].map(([, piece]) => piece).join('')
    expect(text).toBe(words.join(''))
    expect(await ended()).toEqual({ aborted: false })
    expect((await lookup(['a']))[0]).toMatchObject({ conversation_id: 'a::m', is_done: true })
  })

  test('shows pages of allowed origins that it lives, though its client has left and the model is silent', async () => {
    const origin = 'https://page.test'
    const { ask, read, end, started } = await open({ allowedOrigins: [origin], heartbeatMs: () => 20 })
    const left = new AbortController()
    const first = await ask('a', endless, {}, left.signal)
    await started()
    left.abort()
    await first.text().catch(() => undefined)
    const reply = await read('a', 0, { origin })
    expect(reply.headers.get('access-control-allow-origin')).toBe(origin)
    expect(reply.headers.get('x-request-id')).toMatch(/./)
    let heartbeats = 0
    for await (const piece of reply.body ?? []) {
      heartbeats += Buffer.from(piece).toString().split(': \n\n').length - 1
      if (heartbeats < 5) continue
      await end('a')
      break
    }
    expect(heartbeats).toBeGreaterThanOrEqual(5)
  })

  test('is ended by DELETE, and by a new one of its name', async () => {
    const { ask, read, lookup, end, started, ended } = await open()
    const first = await ask('a', { ...endless, delayMs: 1000 })
    await started()
    const second = await ask('a', { ...endless, delayMs: 1000 })
    expect(await ended()).toEqual({ aborted: true })
    await first.text()
    await started()
    expect((await lookup(['a'])).map(({ is_done }) => is_done)).toEqual([false])
    const deleted = await end('a')
    expect([deleted.status, await deleted.text()]).toEqual([204, ''])
    expect(await ended()).toEqual({ aborted: true })
    await second.text()
    expect([(await end('a')).status, (await read('a')).status, await lookup(['a'])]).toEqual([204, 404, []])
  })

  test('stays where another one begins for the same conversation and another model', async () => {
    const { ask, lookup } = await open()
    for (const id of ['a::m', 'a::n', 'a']) await (await ask(id, whole)).text()
    expect((await lookup(['a'])).map(({ conversation_id }) => conversation_id)).toEqual(['a::m', 'a::n', 'a'])
    expect((await lookup(['a::m', 'b'])).map(({ conversation_id }) => conversation_id)).toEqual(['a::m'])
  })

  test("is its key's alone", async () => {
    const keys = ['one', 'two'].map((name) => ({ name, hash: hashOf(name), scopes: new Set(['inference'] as const) }))
    const { ask, read, lookup, end, started, ended } = await open({ auth: { apiKeys: keys } })
    const [one, two] = ['one', 'two'].map((name) => ({ authorization: `Bearer ${name}` }))
    const reply = await ask('a', { ...endless, delayMs: 1000 }, one)
    await started()
    expect([await lookup(['a'], two), (await read('a', 0, two)).status, (await end('a', two)).status]).toEqual([[], 404, 204])
    expect(await lookup(['a'], one)).toHaveLength(1)
    await end('a', one)
    expect(await ended()).toEqual({ aborted: true })
    await reply.text()
  })

  test('is not kept where it failed before its first byte, nor without a name or a stream', async () => {
    const { ask, lookup, port } = await open()
    expect((await ask('a', { chunks: words, failAfter: 0 })).status).toBe(500)
    const plain = sendChat(port, JSON.stringify({ model: 'default', messages: [{ role: 'user', content: 'x' }] }), {
      headers: { 'content-type': 'application/json', 'x-conversation-id': 'b' },
    })
    await new Promise((resolve) => plain.once('response', (response) => response.resume().once('end', resolve)))
    expect(await lookup(['a', 'b', ''])).toEqual([])
  })

  test('still ends with its client where it has no name', async () => {
    const { url, started, ended } = await open()
    const left = new AbortController()
    const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body: body({ ...endless, delayMs: 1000 }) }
    const reply = fetch(`${url}/v1/chat/completions`, { ...request, signal: left.signal }).catch(() => undefined)
    await started()
    left.abort()
    await reply
    expect(await ended()).toEqual({ aborted: true })
  })

  test('is found by another process of the server, which also ends it', async () => {
    const buses = joinedBuses(2)
    const here = await open({ everyone: { ...(buses[0] as Bus), lock: async () => undefined } })
    const there = await open({ everyone: { ...(buses[1] as Bus), lock: async () => undefined } })
    const reply = await here.ask('a', { chunks: words, delayMs: 10 })
    await here.started()
    const copied = (await there.read('a')).text()
    expect(await copied).toBe(await reply.text())
    expect(await there.lookup(['a'])).toHaveLength(1)
    const running = await here.ask('b', { ...endless, delayMs: 1000 })
    await here.started()
    expect((await there.end('b')).status).toBe(204)
    await running.text()
    expect(await there.lookup(['b'])).toEqual([])
  })
})

test.each([
  ['GET', '/v1/stream', 400, 'conv_id is missing'],
  ['GET', '/v1/stream?conv_id=a&from=x', 400, "Invalid 'from' offset"],
  ['GET', '/v1/stream?conv_id=a', 404, "no stream of conversation 'a'"],
  ['DELETE', '/v1/stream', 400, 'conv_id is missing'],
])('%s %s is a %i', async (method, path, status, words) => {
  const { url } = await open()
  const reply = await fetch(url + path, { method })
  const { error } = (await reply.json()) as { readonly error: { readonly message: string } }
  expect([reply.status, error.message]).toEqual([status, expect.stringContaining(words)])
})

test('the reasoning of a running reply is not ended, and the reply says so', async () => {
  const { url } = await open()
  const control = async (payload: object) => {
    const headers = { 'content-type': 'application/json' }
    const reply = await fetch(`${url}/v1/chat/completions/control`, { method: 'POST', headers, body: JSON.stringify(payload) })
    return [reply.status, await reply.json()]
  }
  expect(await control({ action: 'reasoning_end', id: 'chatcmpl-1' })).toEqual([
    200,
    { success: false, message: expect.any(String) },
  ])
  expect(await control({ action: 'reasoning_end' })).toMatchObject([400, { error: { param: 'id' } }])
  expect(await control({ action: 'other', id: 'x' })).toMatchObject([400, { error: { param: 'action' } }])
})

/** The buses of processes that hear each other. */
function joinedBuses(count: number): Bus[] {
  const listeners: Map<string, (message: object) => unknown>[] = Array.from({ length: count }, () => new Map())
  return listeners.map((own) => ({
    async publish<Message extends object, Answer>({ name }: Topic<Message, Answer>, message: Message) {
      const copy = JSON.parse(JSON.stringify(message)) as object
      const answers = await Promise.all(listeners.flatMap((other) => (other === own ? [] : [other.get(name)?.(copy)])))
      return answers.filter((answer) => answer !== undefined) as Answer[]
    },
    async subscribe({ name }, listener) {
      own.set(name, listener as (message: object) => unknown)
    },
  }))
}

function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}
