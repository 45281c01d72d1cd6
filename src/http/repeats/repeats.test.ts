import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../../../test/support/http/app.ts'
import { openTestServer } from '../../../test/support/http/test-server.ts'
import type { Engine } from '../../contract/engine.ts'
import { allScopes } from '../../contract/principal.ts'
import { createFakeEngine } from '../../engine/fake/engine.ts'
import { KeptReply } from './kept-reply.ts'
import { Repeats } from './repeats.ts'

const words = Array.from({ length: 12 }, (_, index) => `w${index} `)
const script = JSON.stringify({ chunks: words, delayMs: 60 })
const user = [{ role: 'user' as const, content: script }]

/** A server that recognises repeated requests for so long, and counts its generations. */
async function open({ graceMs = 5000 } = {}) {
  const inner = createFakeEngine({ script: 'from-request' })
  let runs = 0
  const engine: Engine = {
    ...inner,
    get state() {
      return inner.state
    },
    prepare: async (...args) => {
      const prepared = await inner.prepare(...args)
      return {
        ...prepared,
        run: (...run) => {
          runs += 1
          return prepared.run(...run)
        },
      }
    },
  }
  const repeats = graceMs === 0 ? undefined : new Repeats({ graceMs })
  const server = openTestServer({ engine, ...(repeats !== undefined && { repeats }) })
  let replies = 0
  server.app.server.on('request', (_, reply) => {
    replies += 1
    reply.once('close', () => {
      replies -= 1
    })
  })
  const url = `http://127.0.0.1:${await server.listen()}`
  const post = (path: string, body: object, { headers = {}, signal }: { headers?: object; signal?: AbortSignal } = {}) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      ...(signal !== undefined && { signal }),
    })
  /** Sends a request whose client leaves when the reply has begun. */
  const lose = async (path: string, body: object, headers: object = {}) => {
    const gone = new AbortController()
    const reply = await post(path, body, { headers, signal: gone.signal })
    const reader = reply.body?.getReader()
    const text = new TextDecoder().decode((await reader?.read())?.value)
    gone.abort()
    // A repetition that comes before the server has seen its client leave is a new request.
    await until(() => replies === 0)
    return text
  }
  return { ...server, url, repeats, post, lose, runs: () => runs }
}

const idIn = (text: string) => /"id": ?"((?:chatcmpl|cmpl|msg|resp)[-_]\w+)/.exec(text)?.[1]

/** A proxy that cuts each connection whose number is below `cuts` when the server has been sent something. */
async function cutting(url: string, cuts: number): Promise<string> {
  const { port } = new URL(url)
  const sockets = new Set<Socket>()
  let count = 0
  const proxy = createServer((client) => {
    const index = count++
    const server = connect(Number(port), '127.0.0.1')
    for (const socket of [client, server]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
    }
    client.on('data', (bytes) => {
      server.write(bytes)
      if (index >= cuts || !bytes.includes('}')) return
      setTimeout(() => {
        client.destroy()
        server.destroy()
      }, 50)
    })
    server.pipe(client)
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  })
  return `http://127.0.0.1:${(proxy.address() as { port: number }).port}`
}

describe('a stream that its client has lost', () => {
  test.each([
    ['/v1/chat/completions', { model: 'default', messages: user, stream: true }, 'data: [DONE]'],
    ['/v1/completions', { model: 'default', prompt: script, stream: true, max_tokens: 50 }, 'data: [DONE]'],
    ['/v1/messages', { model: 'default', messages: user, max_tokens: 50, stream: true }, 'message_stop'],
    ['/v1/responses', { model: 'default', input: script, stream: true }, 'response.completed'],
    ['/v1/inference/chat-completion', { model_id: 'default', messages: user, stream: true }, 'complete'],
  ])('is sent again from its beginning when %s is repeated, without a second generation', async (path, body, end) => {
    const server = await open()
    const lost = await server.lose(path, body)
    const reply = await server.post(path, body)
    const text = await reply.text()
    expect(reply.status).toBe(200)
    expect(reply.headers.get('x-dragoman-replayed')).toBe('true')
    expect(reply.headers.get('content-type')).toContain('text/event-stream')
    for (const word of words) expect(text.split(word.trim()).length).toBeGreaterThan(1)
    expect(text).toContain(end)
    expect(text.startsWith(lost)).toBe(true)
    expect(server.runs()).toBe(1)
    await until(() => server.deps.cancellations.size === 0 && server.repeats?.size === 0)
  })

  test('can be lost and repeated again', async () => {
    const server = await open()
    // Long enough to be lost twice on a busy machine.
    const long = JSON.stringify({ chunks: words, delayMs: 250 })
    const body = { model: 'default', messages: [{ role: 'user', content: long }], stream: true }
    const first = await server.lose('/v1/chat/completions', body)
    const second = await server.lose('/v1/chat/completions', body)
    const text = await (await server.post('/v1/chat/completions', body)).text()
    expect(new Set([first, second, text].map(idIn)).size).toBe(1)
    expect(server.runs()).toBe(1)
  })

  test('is cancelled when the grace time is over', async () => {
    const server = await open({ graceMs: 40 })
    const slow = JSON.stringify({ chunks: words, delayMs: 200 })
    await server.lose('/v1/chat/completions', { model: 'default', messages: [{ role: 'user', content: slow }], stream: true })
    await until(() => server.deps.cancellations.size === 0)
    expect(server.scheduler.load.busy).toBe(0)
    expect(server.repeats?.size).toBe(0)
    expect(await server.deps.metrics.render()).toContain('dragoman_cancellations_total{reason="client-gone"} 1')
  })

  test('is cancelled at once without a grace time', async () => {
    const server = await open({ graceMs: 0 })
    const gone = new AbortController()
    const slow = JSON.stringify({ chunks: words, delayMs: 500 })
    const body = { model: 'default', messages: [{ role: 'user', content: slow }], stream: true }
    const reply = await server.post('/v1/chat/completions', body, { signal: gone.signal })
    await reply.body?.getReader().read()
    gone.abort()
    await until(() => server.scheduler.load.busy === 0)
    expect(await server.deps.metrics.render()).toContain('dragoman_cancellations_total{reason="client-gone"} 1')
  })

  test('can be cancelled by its id, and the next request is a new one', async () => {
    const server = await open()
    const body = { model: 'default', messages: user, stream: true }
    const lost = await server.lose('/v1/chat/completions', body)
    const cancelled = await server.post('/api/inference/cancel', { completion_id: idIn(lost) })
    expect(await cancelled.json()).toEqual({ cancelled: 1 })
    const text = await (await server.post('/v1/chat/completions', body)).text()
    expect(idIn(text)).not.toBe(idIn(lost))
    expect(server.runs()).toBe(2)
  })
})

describe('a request is a new one', () => {
  const path = '/v1/chat/completions'
  const body = { model: 'default', messages: user, stream: true }
  const isNew = async (again: (server: Awaited<ReturnType<typeof open>>) => Promise<Response>) => {
    const server = await open()
    await server.lose(path, body)
    await (await again(server)).text()
    expect(server.runs()).toBe(2)
  }

  test('when its body differs, even in white space', () =>
    isNew((server) =>
      fetch(`${server.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: `${JSON.stringify(body)} `,
      }),
    ))

  test('when it has another Idempotency-Key', () =>
    isNew((server) => server.post(path, body, { headers: { 'idempotency-key': 'b' } })))

  test('when the client of the same one is still there', async () => {
    const server = await open()
    const [one, two] = await Promise.all([server.post(path, body), server.post(path, body)])
    await Promise.all([one.text(), two.text()])
    expect(server.runs()).toBe(2)
  })

  test('when it comes with another API key', async () => {
    const keys = ['one', 'two']
    const apiKeys = keys.map((key) => ({ hash: createHash('sha256').update(key).digest('hex'), name: key, scopes: allScopes }))
    const repeats = new Repeats({ graceMs: 5000 })
    const server = openTestServer({ engine: createFakeEngine({ script: 'from-request' }), repeats, auth: { apiKeys } })
    const port = await server.listen()
    const gone = new AbortController()
    const ask = (key: string, signal?: AbortSignal) =>
      fetch(`http://127.0.0.1:${port}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: JSON.stringify(body),
        ...(signal !== undefined && { signal }),
      })
    await (await ask('one', gone.signal)).body?.getReader().read()
    gone.abort()
    const other = await ask('two')
    expect(other.headers.get('x-dragoman-replayed')).toBeNull()
    await other.text()
    const same = await ask('one')
    expect(same.headers.get('x-dragoman-replayed')).toBe('true')
    await same.text()
  })
})

test('a client whose old connection only looks open joins by its Idempotency-Key', async () => {
  const server = await open()
  const body = { model: 'default', messages: user, stream: true }
  const headers = { 'idempotency-key': 'a' }
  const first = await server.post('/v1/chat/completions', body, { headers })
  const second = await server.post('/v1/chat/completions', body, { headers })
  const [one, two] = await Promise.all([first.text(), second.text()])
  expect(two).toBe(one)
  expect(server.runs()).toBe(1)
})

describe('the retries of an SDK after a cut connection', () => {
  test('of OpenAI get the one reply that is made', async () => {
    const server = await open()
    const baseURL = `${await cutting(server.url, 1)}/v1`
    const client = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 2 })
    const reply = await client.chat.completions.create({ model: 'default', messages: user })
    expect(reply.choices[0]?.message.content).toBe(words.join(''))
    expect(server.runs()).toBe(1)
  })

  test('of OpenAI get the one stream that is made, where the connection is cut before its first token', async () => {
    const server = await open()
    const client = new OpenAI({ baseURL: `${await cutting(server.url, 2)}/v1`, apiKey: 'none', maxRetries: 2 })
    const slow = JSON.stringify({ chunks: ['one ', 'two'], delayMs: 1500 })
    const stream = await client.chat.completions.create({
      model: 'default',
      messages: [{ role: 'user', content: slow }],
      stream: true,
    })
    let text = ''
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    expect(text).toBe('one two')
    expect(server.runs()).toBe(1)
  })

  test('of Anthropic get the one reply that is made', async () => {
    const server = await open()
    const client = new Anthropic({ baseURL: await cutting(server.url, 1), apiKey: 'none', maxRetries: 2 })
    const reply = await client.messages.create({ model: 'default', messages: user, max_tokens: 50 })
    expect(reply.content).toMatchObject([{ type: 'text', text: words.join('') }])
    expect(server.runs()).toBe(1)
  })
})

test('a repetition of a request that has failed is a new attempt', async () => {
  const server = await open()
  const body = {
    model: 'default',
    messages: [{ role: 'user', content: JSON.stringify({ raw: 'a b', failAfter: 0, delayMs: 30 }) }],
  }
  const gone = new AbortController()
  const first = server.post('/v1/chat/completions', body, { signal: gone.signal }).catch(() => undefined)
  await until(() => server.runs() === 1)
  gone.abort()
  await first
  await until(() => server.deps.cancellations.size === 0)
  expect((await server.post('/v1/chat/completions', body)).status).toBe(500)
  expect(server.runs()).toBe(2)
})

test('a stream of more than 16 MiB is not kept for repetitions', async () => {
  let isKept = true
  const kept = new KeptReply({
    graceMs: 5000,
    onForget: () => {
      isKept = false
    },
  })
  await new Promise((resolve) => kept.write(Buffer.alloc(16 * 1024 * 1024), resolve))
  expect(isKept).toBe(true)
  await new Promise((resolve) => kept.write('x', resolve))
  expect(isKept).toBe(false)
})
