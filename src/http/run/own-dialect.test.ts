import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import {
  openTestServer,
  readAll,
  readUntil,
  receive,
  sendChat,
  type TestServerOptions,
} from '../../../test/support/http/test-server.ts'
import { stubEngine } from '../../../test/support/upstream/stub-engine.ts'
import { hashApiKey } from '../../app/keys/made-keys.ts'
import type { Emit } from '../../base/emit.ts'
import type { Dialect } from '../../contract/dialect.ts'
import { AppError } from '../../contract/errors.ts'
import type { EngineEvent } from '../../contract/event.ts'
import { field } from '../../contract/field.ts'
import { allScopes } from '../../contract/principal.ts'
import { plainRequest } from '../../contract/request.ts'
import type { GenerationRecord } from '../../contract/usage.ts'

const usage: EngineEvent = {
  type: 'usage',
  usage: { inputTokens: 1, cachedInputTokens: 0, outputTokens: 2, reasoningTokens: 0 },
  timings: {},
}
const text = (delta: string): EngineEvent => ({ type: 'text-delta', choice: 0, delta })
const finish: EngineEvent = { type: 'finish', choice: 0, reason: 'stop' }

type Body = { readonly say: string; readonly stream?: boolean; readonly model?: string }

/** A protocol unlike OpenAI's: other fields, envelopes, statuses and frames. */
function createOwnDialect(overrides: Partial<Dialect> = {}): Dialect {
  let count = 0
  return {
    decode({ body, headers }, { id }) {
      const { say, stream = false, model = 'default' } = body as Body
      if (typeof say !== 'string') throw new AppError('invalid-request', 'say: expected a text', { param: 'say' })
      return {
        requests: [{ ...plainRequest, id, model, prompt: { type: 'text', text: say } }],
        stream,
        ignored: [],
        nameOf: ([root]) => (root === 'prompt' ? 'say' : `own ${root}`),
        encodeResult: ({ start, choices }) => ({ from: start.model, said: choices[0]?.parts, to: headers['x-own'] ?? null }),
        createStreamEncoder: () => ({
          encode: (event) => {
            if (event.type === 'error') return `event: failed ${event.error.code} at ${event.error.param}\n\n`
            return `event: ${event.type}${event.type === 'start' ? ` ${event.model}` : ''}\n\n`
          },
        }),
      }
    },
    createId: () => `own-${++count}`,
    encodeError: ({ code, message, param }) => ({
      status: code === 'route-not-found' ? 410 : code === 'engine-failed' ? 529 : 418,
      headers: { 'x-own-error': code },
      body: { own: { message, place: param ?? null } },
    }),
    heartbeat: 'event: ping\n\n',
    prefixes: ['/own'],
    ...overrides,
  }
}

/** An engine that emits what `run` does. */
function engineOf(run: (emit: Emit<EngineEvent>, signal: AbortSignal) => Promise<void>) {
  return stubEngine({ prepare: async () => ({ run: (signal, emit) => run(emit, signal) }) })
}

/** A gate that the test opens. */
function createGate() {
  let open: () => void = () => undefined
  const passed = new Promise<void>((resolve) => {
    open = resolve
  })
  return { passed, open: () => open() }
}

const echo = engineOf(async (emit) => {
  for (const event of [text('a'), text('b'), finish, usage]) await emit(event)
})

function open(dialect: Dialect, options: Partial<TestServerOptions> = {}) {
  return openTestServer({ engine: echo, dialects: [{ path: '/own/say', dialect }], ...options })
}

async function ask(server: ReturnType<typeof open>, payload: object | string = { say: 'hi' }, headers = {}) {
  const sent = { 'content-type': 'application/json', ...headers }
  const reply = await server.app.inject({ method: 'POST', url: '/own/say', payload, headers: sent })
  return { status: reply.statusCode, headers: reply.headers, body: reply.body, json: () => reply.json() }
}

describe('an additional dialect', () => {
  test('answers at its path, and reads headers', async () => {
    const { status, json } = await ask(open(createOwnDialect()), { say: 'hi' }, { 'x-own': 'you' })
    expect(status).toBe(200)
    expect(json()).toEqual({ from: 'org/fake', said: [{ type: 'text', text: 'ab' }], to: 'you' })
  })

  test('streams in its own frames', async () => {
    const { status, body, headers } = await ask(open(createOwnDialect()), { say: 'hi', stream: true })
    expect([status, headers['content-type']]).toEqual([200, 'text/event-stream; charset=utf-8'])
    const types = ['start org/fake', 'text-delta', 'text-delta', 'finish', 'usage']
    expect(body).toBe(types.map((type) => `event: ${type}\n\n`).join(''))
  })

  test('leaves the built-in protocols unchanged', async () => {
    const { app } = open(createOwnDialect())
    expect((await app.inject({ method: 'POST', url: '/v1/chat/completions', payload: {} })).json().error.code).toBe(
      'invalid_request',
    )
    expect((await app.inject('/v1/nothing')).json().error.code).toBe('unknown_url')
  })
})

describe('failures under the prefix of a dialect', () => {
  test.each<[string, object, number, string, string | null]>([
    ['a path that is not there', { method: 'GET', url: '/own/nothing?a=1' }, 410, 'route-not-found', null],
    ['the prefix itself', { method: 'GET', url: '/own' }, 410, 'route-not-found', null],
    ['a method that is not allowed', { method: 'GET', url: '/own/say' }, 418, 'method-not-allowed', null],
    ['no body', { method: 'POST', url: '/own/say' }, 418, 'invalid-json', null],
    [
      'a body that is not JSON',
      { method: 'POST', url: '/own/say', payload: '{', headers: { 'content-type': 'application/json' } },
      418,
      'invalid-json',
      null,
    ],
    ['a body that is not valid', { method: 'POST', url: '/own/say', payload: {} }, 418, 'invalid-request', 'say'],
    [
      'an unknown model',
      { method: 'POST', url: '/own/say', payload: { say: 'a', model: 'x' } },
      418,
      'model-not-found',
      'own model',
    ],
  ])('have its envelope, its statuses and its headers: %s', async (_, request, status, code, place) => {
    const reply = await open(createOwnDialect()).app.inject(request)
    expect([reply.statusCode, reply.headers['x-own-error']]).toEqual([status, code])
    expect(reply.json()).toEqual({ own: { message: expect.any(String), place } })
  })

  test('keep the headers common to all protocols', async () => {
    const refused = await open(createOwnDialect()).app.inject({ method: 'DELETE', url: '/own/say' })
    expect(refused.headers.allow).toBe('POST')
    const full = await ask(open(createOwnDialect(), { slots: 0, maxQueued: 0 }))
    expect([full.status, full.headers['retry-after'], full.headers['x-own-error']]).toEqual([418, '1', 'queue-full'])
    const locked = await ask(open(createOwnDialect(), { auth: { apiKeys: [{ hash: hashApiKey('secret'), scopes: allScopes }] } }))
    expect([locked.status, locked.headers['www-authenticate'], locked.headers['x-own-error']]).toEqual([
      418,
      'Bearer',
      'unauthorized',
    ])
  })

  test('of core and engines use the caller’s names', async () => {
    const engine = stubEngine({
      prepare: async () => {
        throw new AppError('invalid-request', `${field('prompt', 'text')} is too loud`, { at: ['prompt', 'text'] })
      },
    })
    const { json } = await ask(open(createOwnDialect(), { engine }))
    expect(json()).toEqual({ own: { message: 'say is too loud', place: 'say' } })
  })

  test('use the longest matching prefix', async () => {
    const inner = createOwnDialect({ prefixes: ['/own/deep'], encodeError: () => ({ status: 451, body: 'deep' }) })
    const dialects = [
      { path: '/own/say', dialect: createOwnDialect() },
      { path: '/own/deep/say', dialect: inner },
    ]
    const { app } = openTestServer({ engine: echo, dialects })
    expect((await app.inject('/own/deep/nothing')).statusCode).toBe(451)
    expect((await app.inject('/own/deeper')).statusCode).toBe(410)
    expect((await app.inject('/owner')).json().error.code).toBe('unknown_url')
  })
})

describe('a dialect with asynchronous decoding', () => {
  const slow = (parts: Parameters<typeof createOwnDialect>[0] = {}) => {
    const dialect = createOwnDialect(parts)
    return createOwnDialect({
      ...parts,
      decode: async (input, context) => {
        await pause(5)
        return dialect.decode(input, context)
      },
    })
  }

  test.each([true, false])('answers like a synchronous one (stream: %j)', async (stream) => {
    const [now, later] = await Promise.all(
      [createOwnDialect(), slow()].map((dialect) => ask(open(dialect), { say: 'a', stream })),
    )
    expect(later?.status).toBe(200)
    expect(later?.body).toBe(now?.body)
  })

  test('refuses by rejecting', async () => {
    const { status, json } = await ask(open(slow()), {})
    expect([status, json()]).toEqual([418, { own: { message: 'say: expected a text', place: 'say' } }])
  })

  test('generates nothing for a client that has disconnected', async () => {
    let prepared = 0
    const engine = stubEngine({
      prepare: async (_, signal) => {
        signal.throwIfAborted()
        prepared += 1
        return { run: async () => undefined }
      },
    })
    const [begun, decode] = [createGate(), createGate()]
    const inner = createOwnDialect()
    const dialect = createOwnDialect({
      decode: async (input, context) => {
        begun.open()
        await decode.passed
        return inner.decode(input, context)
      },
    })
    const { listen, deps } = open(dialect, { engine })
    const request = sendChat(await listen(), JSON.stringify({ say: 'a' }), { path: '/own/say' })
    await begun.passed
    expect(deps.cancellations.size).toBe(1)
    request.destroy()
    await expect.poll(() => deps.metrics.render()).toContain('{route="/own/say",status="499"} 1')
    decode.open()
    await expect.poll(() => deps.cancellations.size).toBe(0)
    expect(prepared).toBe(0)
  })
})

describe('the opening of a stream', () => {
  test('waits for the first event: an engine that fails before it gives a real status', async () => {
    const engine = engineOf(() => Promise.reject(new AppError('engine-failed', 'broken')))
    const { status, headers, json } = await ask(open(createOwnDialect(), { engine }), { say: 'a', stream: true })
    expect([status, headers['content-type']]).toEqual([529, 'application/json; charset=utf-8'])
    expect(json().own.message).toBe('broken')
  })

  test('is sent before the first event, and before a failure after it', async () => {
    const engine = engineOf(async (emit) => {
      await emit({ type: 'prompt-read', inputTokens: 1, cachedInputTokens: 0 })
      throw new AppError('invalid-request', 'broken', { at: ['prompt', 'text'] })
    })
    const { status, body } = await ask(open(createOwnDialect(), { engine }), { say: 'a', stream: true })
    expect(status).toBe(200)
    expect(body).toBe('event: start org/fake\n\nevent: prompt-read\n\nevent: failed invalid-request at say\n\n')
  })

  test('is sent before the heartbeat of a slow engine', async () => {
    const engine = engineOf(async (emit) => {
      await pause(100)
      await emit(finish)
      await emit(usage)
    })
    const { body } = await ask(open(createOwnDialect(), { engine, heartbeatMs: () => 10 }), { say: 'a', stream: true })
    expect(body).toMatch(/^event: start org\/fake\n\n(event: ping\n\n)+event: finish\n\nevent: usage\n\n$/)
  })

  test('comes after the heartbeats of a request that waits for its model', async () => {
    const engine = { ...echo, ensureReady: () => pause(100) }
    const { body } = await ask(open(createOwnDialect(), { engine, heartbeatMs: () => 10 }), { say: 'a', stream: true })
    expect(body).toMatch(/^(event: ping\n\n)+event: start org\/fake\n\nevent: text-delta\n\n/)
    expect(body.match(/event: start/g)).toHaveLength(1)
  })

  test('is the only frame before the error of a stream that a heartbeat opened', async () => {
    const engine = engineOf(async () => {
      await pause(60)
      throw new AppError('engine-failed', 'broken')
    })
    const { status, body } = await ask(open(createOwnDialect(), { engine, heartbeatMs: () => 10 }), { say: 'a', stream: true })
    expect(status).toBe(200)
    expect(body).toMatch(/^event: start org\/fake\n\n(event: ping\n\n)+event: failed engine-failed at undefined\n\n$/)
  })
})

describe('a client that disconnects', () => {
  /** A generation that emits one word, then waits for the gate. */
  function openHeld() {
    const records: GenerationRecord[] = []
    const held = { ended: false, signal: undefined as AbortSignal | undefined }
    const gate = createGate()
    const engine = engineOf(async (emit, signal) => {
      held.signal = signal
      signal.addEventListener('abort', () => gate.open())
      await emit(text('a'))
      await gate.passed
      signal.throwIfAborted()
      for (let count = 0; count < 100; count++) await emit(text('b'.repeat(10_000)))
      for (const event of [finish, usage]) await emit(event)
      held.ended = true
    })
    const server = open(createOwnDialect(), { engine, record: (ended) => void records.push(ended) })
    return { ...server, held, gate, records }
  }

  async function hangUp(
    { listen, deps }: ReturnType<typeof openHeld>,
    stream: boolean,
    held: { signal: AbortSignal | undefined },
  ) {
    const request = sendChat(await listen(), JSON.stringify({ say: 'a', stream }), { path: '/own/say' })
    if (stream) await readUntil(await receive(request), 'text-delta')
    else await expect.poll(() => held.signal).toBeDefined()
    request.destroy()
    await expect.poll(() => deps.metrics.render()).toContain('{route="/own/say",status="499"} 1')
  }

  test.each([true, false])('cancels its generation (stream: %j)', async (stream) => {
    const server = openHeld()
    await hangUp(server, stream, server.held)
    await expect.poll(() => server.records).toMatchObject([{ outcome: 'cancelled', model: 'org/fake' }])
    expect(server.held.ended).toBe(false)
    expect(await server.deps.metrics.render()).toContain('dragoman_cancellations_total{reason="client-gone"} 1')
  })
})

describe('requests that follow each other on a connection', () => {
  test('have separate signals', async () => {
    const signals: AbortSignal[] = []
    const heard: string[] = []
    const engine = engineOf(async (emit, signal) => {
      signals.push(signal)
      if (signals.length === 1) signal.addEventListener('abort', () => void heard.push('abort'))
      else await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      for (const event of [text('a'), finish, usage]) await emit(event)
    })
    const { app, listen } = open(createOwnDialect(), { engine })
    await listen()
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1').setEncoding('utf8')
    const body = JSON.stringify({ say: 'a' })
    const request = `POST /own/say HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    socket.write(request)
    await once(socket, 'data')
    socket.write(request)
    await expect.poll(() => signals).toHaveLength(2)
    socket.destroy()
    await expect.poll(() => signals[1]?.aborted).toBe(true)
    expect([signals[0]?.aborted, heard]).toEqual([false, []])
  })
})

test('a reply that is read completely cancels nothing', async () => {
  const { listen, deps } = open(createOwnDialect())
  const response = await receive(sendChat(await listen(), JSON.stringify({ say: 'a', stream: true }), { path: '/own/say' }))
  expect(await readAll(response)).toContain('event: usage')
  expect(await deps.metrics.render()).not.toContain('dragoman_cancellations_total{')
})
