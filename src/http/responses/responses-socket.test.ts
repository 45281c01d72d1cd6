import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { describe, expect, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { until } from '../../../test/support/http/app.ts'
import { eventsOf, openResponsesServer, openStream } from '../../../test/support/http/responses-server.ts'
import { openSocket, type SocketEvent } from '../../../test/support/http/responses-socket.ts'
import { openTestServer, openWatchedServer, readAll } from '../../../test/support/http/test-server.ts'
import { soon } from '../../../test/support/process/stall-bound.ts'
import type { Engine } from '../../contract/engine.ts'
import { createFakeEngine } from '../../engine/fake/engine.ts'

const hourMs = 3_600_000
const late = JSON.stringify({ raw: 'late', delayMs: hourMs })
const notFound = { type: 'error', status: 400, error: { code: 'previous_response_not_found', param: 'previous_response_id' } }

async function open() {
  const server = await openResponsesServer()
  const port = await server.listen()
  return { ...server, port, client: await openSocket(port) }
}

const idOf = (event: SocketEvent) => event.response?.id ?? ''
const textOf = (events: readonly SocketEvent[]) => events.map(({ delta }) => delta ?? '').join('')

describe('a socket', () => {
  test('streams the same events as HTTP', async () => {
    const { client, port } = await open()
    await client.turn({ input: 'one two' })
    const { response } = await openStream(port, { input: 'one two' })
    const types = (events: readonly { readonly type: string }[]) => events.map(({ type }) => type)
    expect(types(client.received)).toEqual(types(eventsOf(await readAll(response))))
    expect(textOf(client.received)).toBe('one two')
  })

  test('continues what it said, without a store, by sending only what is new', async () => {
    const { client, seen, call } = await open()
    const first = await client.turn({ input: 'one', store: false })
    const second = await client.turn({ input: 'two', store: false, previous_response_id: idOf(first) })
    await client.turn({ input: 'three', store: false, previous_response_id: idOf(second) })
    expect(seen[2]).toEqual(['user: one', 'assistant: one', 'user: two', 'assistant: two', 'user: three'])
    expect((await call('GET', `/v1/responses/${idOf(first)}`)).status).toBe(404)
  })

  test('remembers the last response only; clients recover with the whole conversation', async () => {
    const { client, port } = await open()
    const first = await client.turn({ input: 'one', store: false })
    await client.turn({ input: 'two', store: false })
    expect(await client.turn({ input: 'x', previous_response_id: idOf(first) })).toMatchObject(notFound)
    expect(await client.turn({ input: 'x', previous_response_id: null })).toMatchObject({ type: 'response.completed' })
    const other = await openSocket(port)
    expect(await other.turn({ input: 'x', previous_response_id: idOf(first) })).toMatchObject(notFound)
  })

  test('continues stored responses of another connection', async () => {
    const { client, create, seen } = await open()
    const { id } = await create({ input: 'one' })
    await client.turn({ input: 'two', previous_response_id: id })
    expect(seen[1]).toEqual(['user: one', 'assistant: one', 'user: two'])
  })

  test('forgets what a failed response continued', async () => {
    const { client } = await open()
    const first = await client.turn({ input: 'one', store: false })
    const failing = { input: JSON.stringify({ raw: 'a b', failAfter: 1 }), store: false, previous_response_id: idOf(first) }
    expect(await client.turn(failing)).toMatchObject({ type: 'response.failed' })
    expect(await client.turn({ input: 'x', previous_response_id: idOf(first) })).toMatchObject(notFound)
  })

  test('prepares a request without generating, and continues it', async () => {
    const { client, seen } = await open()
    const warm = await client.turn({ input: 'one', store: false, generate: false })
    expect(warm).toMatchObject({ type: 'response.completed', response: { output: [] } })
    expect(seen).toEqual([])
    await client.turn({ input: 'two', store: false, previous_response_id: idOf(warm) })
    expect(seen).toEqual([['user: one', 'user: two']])
  })

  test('runs lanes beside each other, and one response at a time in each', async () => {
    const { client, watched } = await open()
    client.send({ input: late, stream_id: 'a' })
    await watched.started()
    client.send({ input: 'after', stream_id: 'a' })
    client.send({ input: 'beside', stream_id: 'b' })
    const end = await client.event(({ type }) => type === 'response.completed')
    expect(end.stream_id).toBe('b')
    expect(new Set(client.received.map(({ stream_id }) => stream_id))).toEqual(new Set(['b']))
  })

  test('forks a lane from the last response of another', async () => {
    const { client, seen } = await open()
    const main = await client.turn({ input: 'one', store: false, stream_id: 'main' })
    await client.turn({ input: 'two', store: false, stream_id: 'fork', previous_response_id: idOf(main) })
    await client.turn({ input: 'three', store: false, stream_id: 'main', previous_response_id: idOf(main) })
    expect(seen[2]).toEqual(['user: one', 'assistant: one', 'user: three'])
  })

  test('stops the engine when its client leaves', async () => {
    const { client, watched, deps } = await open()
    client.send({ input: late })
    await watched.started()
    const ended = await soon(() => {
      client.socket.terminate()
      return watched.ended()
    })
    expect(ended).toEqual({ aborted: true })
    expect(deps.cancellations.size).toBe(0)
    expect(await deps.metrics.render()).toContain('dragoman_cancellations_total{reason="client-gone"} 1')
  })

  test('writes a line for each response, and one for the connection', async () => {
    const { client, logLines } = await open()
    await client.turn({ input: 'one', flavour: 1 })
    client.socket.close()
    await client.closed
    const lines = logLines.map((line) => JSON.parse(line))
    expect(lines).toContainEqual(
      expect.objectContaining({ msg: 'response on a socket ended', finishReason: 'stop', model: 'org/fake', ignored: 'flavour' }),
    )
    await expect.poll(() => logLines.some((line) => /"status":101.*request ended/.test(line))).toBe(true)
  })
})

describe('a message that cannot be served', () => {
  test.each<[string, string | Buffer, number, string]>([
    ['no JSON', '{"type":', 400, 'invalid_json'],
    ['bytes', Buffer.from('{}'), 400, 'invalid_request'],
    ['another type', '{"type":"response.cancel"}', 400, 'invalid_request'],
    ['a wrong lane', '{"type":"response.create","stream_id":"ä"}', 400, 'invalid_request'],
    ['background', '{"type":"response.create","background":true}', 400, 'unsupported_field'],
    ['another model', '{"type":"response.create","model":"x","input":"hi"}', 404, 'model_not_found'],
  ])('is answered with an error, and the socket stays open: %s', async (_, message, status, code) => {
    const { client } = await open()
    client.socket.send(message)
    expect(await client.event(({ type }) => type === 'error')).toMatchObject({ status, error: { code } })
    expect(await client.turn({ input: 'hi' })).toMatchObject({ type: 'response.completed' })
  })

  test('ends the connection where it comes in thousands, with one line in the log', async () => {
    const { client, logLines } = await open()
    for (let count = 0; count < 5000; count++) client.socket.send('x')
    expect(await client.closed).toBe(1008)
    expect(client.received).toHaveLength(5)
    expect(logLines.filter((line) => line.includes('response failed'))).toHaveLength(1)
  })

  test('counts anew after a response', async () => {
    const { client } = await open()
    for (let round = 0; round < 3; round++) {
      for (let count = 0; count < 4; count++) client.socket.send('x')
      const from = client.received.length
      client.send({ input: 'hi' })
      await client.event(({ type }) => type === 'response.completed', from)
    }
  })

  test('is answered with the status that HTTP has, before the first token', async () => {
    const { client } = await open()
    const failing = JSON.stringify({ raw: 'a', failAfter: 0 })
    expect(await client.turn({ input: failing })).toMatchObject({ type: 'error', status: 500, error: { code: 'engine_failed' } })
    expect(client.received).toHaveLength(1)
  })

  test('ends the connection when it is larger than a body may be', async () => {
    const { listen } = await openResponsesServer({ bodyLimitBytes: 1000 })
    const client = await openSocket(await listen())
    client.send({ input: 'x'.repeat(2000) })
    expect(await client.closed).toBe(1009)
  })

  test('is refused while other messages fill the memory for bodies', async () => {
    const { listen } = await openResponsesServer({ totalBodyLimitBytes: 150_000 })
    const client = await openSocket(await listen())
    const input = [{ role: 'user', content: 'x'.repeat(100_000) }]
    client.send({ input: [...input, { role: 'user', content: late }], stream_id: 'a' })
    expect(await client.turn({ input, stream_id: 'b' })).toMatchObject({ status: 503, error: { code: 'overloaded' } })
  })

  test('is refused when too many wait on the connection', async () => {
    const { client, watched } = await open()
    client.send({ input: late })
    await watched.started()
    for (let count = 0; count < 64; count++) client.send({ input: 'hi' })
    expect(await client.event(({ type }) => type === 'error')).toMatchObject({ status: 429 })
  })
})

describe('a request for a socket', () => {
  const refusalOf = async (port: number, headers: Record<string, string>) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/responses`, { headers })
    const [, response] = await once(socket, 'unexpected-response')
    return response.statusCode as number
  }

  test('needs a key where others do', async () => {
    const hash = createHash('sha256').update('secret').digest('hex')
    const { listen } = await openResponsesServer({ auth: { apiKeys: [{ hash, scopes: new Set(['inference']) }] } })
    const port = await listen()
    expect(await refusalOf(port, {})).toBe(401)
    const client = await openSocket(port, { authorization: 'Bearer secret' })
    expect(await client.turn({ input: 'hi' })).toMatchObject({ type: 'response.completed' })
  })

  test('ends with the next message once its key is deleted', async () => {
    const hash = createHash('sha256').update('stolen').digest('hex')
    const keys = new Map([[hash, { hash, scopes: new Set(['inference'] as const) }]])
    const { listen, seen } = await openResponsesServer({ auth: { apiKeys: [], findKey: (one) => keys.get(one) } })
    const client = await openSocket(await listen(), { authorization: 'Bearer stolen' })
    expect(await client.turn({ input: 'one' })).toMatchObject({ type: 'response.completed' })
    keys.clear()
    expect(await client.turn({ input: 'two' })).toMatchObject({ type: 'error', status: 401 })
    expect(await soon(() => client.closed)).toBe(1008)
    expect(seen).toEqual([['user: one']])
  })

  test('of a page of another origin, or with a foreign host, is refused', async () => {
    const port = await openTestServer().listen()
    expect(await refusalOf(port, { origin: 'https://evil.example' })).toBe(403)
    expect(await refusalOf(port, { host: 'evil.example' })).toBe(403)
  })

  test('is a list of responses without an upgrade, and a plain reply elsewhere', async () => {
    const { listen, app } = openTestServer()
    const port = await listen()
    const reply = await app.inject('/v1/responses')
    expect([reply.statusCode, reply.json()]).toMatchObject([200, { object: 'list', data: [] }])
    const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/models`)
    const [, response] = await once(socket, 'unexpected-response')
    expect(response.statusCode).toBe(200)
  })
})

describe('a shutdown', () => {
  test('closes idle sockets at once', async () => {
    const { client, drain } = await open()
    await client.turn({ input: 'hi' })
    const drained = drain(hourMs)
    expect(await client.closed).toBe(1001)
    await drained
  })

  test('ends idle sockets whose clients do not answer', async () => {
    const { client, drain } = await open()
    client.socket.pause()
    await drain(hourMs)
  })

  test('lets a response end, and refuses others', async () => {
    const { client, drain, watched } = await open()
    client.send({ input: JSON.stringify({ chunks: ['a', 'b', 'c'], delayMs: 100 }) })
    await watched.started()
    const drained = drain(hourMs)
    client.send({ input: 'more', stream_id: 'other' })
    expect(await client.event(({ type }) => type === 'error')).toMatchObject({ status: 503, error: { code: 'shutting_down' } })
    expect(await client.event(({ type }) => type === 'response.completed')).toBeDefined()
    expect(await client.closed).toBe(1001)
    await drained
  })

  test('ends what is late', async () => {
    const { client, drain, watched } = await open()
    client.send({ input: JSON.stringify({ chunks: ['a', ...Array(1000).fill('b')], delayMs: 50 }) })
    await watched.started()
    await client.event(({ delta }) => delta !== undefined)
    await drain(0)
    expect(await client.event(({ type }) => type === 'response.failed')).toBeDefined()
    expect(await client.closed).toBe(1001)
  })
})

describe('a client', () => {
  test('that reads slowly holds up its own response, and gets all of it', async () => {
    const pieces = 100
    const engine: Engine = {
      ...createFakeEngine({ script: 'from-request' }),
      prepare: async () => ({
        run: async (_signal, emit) => {
          for (let count = 0; count < pieces; count++) await emit({ type: 'raw-text', choice: 0, text: 'x'.repeat(100_000) })
          await emit({ type: 'finish', choice: 0, reason: 'stop' })
          const usage = { inputTokens: 1, cachedInputTokens: 0, outputTokens: pieces, reasoningTokens: 0 }
          await emit({ type: 'usage', usage, timings: {} })
        },
      }),
    }
    const { port, watched } = await openWatchedServer({ engine })
    const client = await openSocket(port)
    client.socket.pause()
    client.send({ input: 'hi' })
    await watched.started()
    for (let count = 0; count < 20; count++) await fetch(`http://127.0.0.1:${port}/health`)
    expect(watched.seen.events).toBeLessThan(pieces)
    client.socket.resume()
    await client.event(({ type }) => type === 'response.completed')
    expect(textOf(client.received)).toHaveLength(pieces * 100_000)
  })

  test('that reads no errors is not read either', async () => {
    const { app, port, watched } = await openWatchedServer()
    const served: Socket[] = []
    app.server.on('connection', (socket) => served.push(socket))
    const client = await openSocket(port)
    client.send({ input: late })
    await watched.started()
    client.socket.pause()
    const message = JSON.stringify({ type: 'response.create', model: 'default', input: 'x'.repeat(100) })
    for (let count = 0; count < 100_000; count++) client.socket.send(message)
    let before = -1
    while (served[0]?.bytesRead !== before) {
      before = served[0]?.bytesRead ?? 0
      for (let turn = 0; turn < 20; turn++) await fetch(`http://127.0.0.1:${port}/health`)
    }
    expect(before).toBeLessThan(0.9 * 100_000 * message.length)
    client.socket.terminate()
    expect(await watched.ended()).toEqual({ aborted: true })
  })

  test('that sends many pings gets an answer to the last', async () => {
    const client = await openSocket(await openTestServer().listen())
    const pongs: string[] = []
    client.socket.on('pong', (data) => pongs.push(String(data)))
    for (let count = 0; count <= 10_000; count++) client.socket.ping(String(count))
    await until(() => pongs.at(-1) === '10000')
    expect(pongs.length).toBeLessThan(1000)
  })

  test('is sent pings, and disconnected when it answers none for long', async () => {
    let nowMs = 0
    const { port, watched } = await openWatchedServer({ heartbeatMs: () => 20, stalledReaderMs: 1000, now: () => nowMs })
    const client = await openSocket(port)
    client.send({ input: late })
    await watched.started()
    for (let count = 0; count < 20; count++) {
      await once(client.socket, 'ping')
      nowMs += 100
    }
    expect(client.socket.readyState).toBe(WebSocket.OPEN)
    client.socket.pause()
    const clock = setInterval(() => {
      nowMs += 100
    }, 20)
    expect(await watched.ended()).toEqual({ aborted: true })
    clearInterval(clock)
  })
})

test('a connection ends after an hour, when nothing runs on it', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const client = await openSocket(await openTestServer().listen())
    vi.advanceTimersByTime(hourMs)
    expect(await client.event(({ type }) => type === 'error')).toMatchObject({
      status: 400,
      error: { code: 'websocket_connection_limit_reached' },
    })
    expect(await client.closed).toBe(1001)
  } finally {
    vi.useRealTimers()
  }
})
