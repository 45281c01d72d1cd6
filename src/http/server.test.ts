import { once } from 'node:events'
import { connect } from 'node:net'
import type { InjectOptions } from 'fastify'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Cancellations } from '../core/cancellations.ts'
import type { Engine } from '../core/engine.ts'
import { AppError } from '../core/errors.ts'
import { createFakeEngine } from '../engine/fake/engine.ts'
import {
  chatBody,
  createTestServer,
  readAll,
  receive,
  sendChat,
  type TestServerOptions,
  watchEngine,
} from './__fixtures__/test-server.ts'
import { hashApiKey } from './api-key.ts'

const key = 'sk-dragoman-test'
const fake = () => createFakeEngine({ script: 'from-request' })
const chat = { method: 'POST', url: '/v1/chat/completions', headers: { 'content-type': 'application/json' } } as const

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()))
})

function create(options: Partial<TestServerOptions> = {}) {
  const server = createTestServer({ engine: fake(), ...options })
  closers.push(() => server.app.close())
  return server
}

/** More than the system's buffers of a connection hold. */
const largeText = 'x'.repeat(12_000_000)

/** An engine that says one text, all at once. */
function oneText(text: string): Engine {
  return {
    ...fake(),
    prepare: async () => ({
      run: async (_signal, emit) => {
        await emit({ type: 'raw-text', choice: 0, text })
        await emit({ type: 'finish', choice: 0, reason: 'stop' })
        const usage = { inputTokens: 1, cachedInputTokens: 0, outputTokens: 1, reasoningTokens: 0 }
        await emit({ type: 'usage', usage, timings: {} })
      },
    }),
  }
}

/** The head of a chat request, and less of its body than it says. */
const halfRequest =
  'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"model":'

function logged(lines: readonly string[]): Record<string, unknown>[] {
  return lines.map((line) => JSON.parse(line))
}

describe('errors', () => {
  const invalid = { type: 'invalid_request_error', param: null }

  test.each([
    ['malformed JSON', { ...chat, payload: '{"a": ' }, 400, { ...invalid, code: 'invalid_json' }],
    ['an empty body', { ...chat, payload: '' }, 400, { ...invalid, code: 'invalid_json' }],
    ['no body at all', { method: 'POST', url: '/v1/chat/completions' }, 400, { ...invalid, code: 'invalid_json' }],
    [
      'bytes that are not UTF-8',
      { ...chat, payload: Buffer.from([0x22, 0xff, 0x22]) },
      400,
      { ...invalid, code: 'invalid_json' },
    ],
    ['deep nesting', { ...chat, payload: '['.repeat(100_000) }, 400, { ...invalid, code: 'invalid_json' }],
    ['a __proto__ key', { ...chat, payload: '{"__proto__": {"x": 1}}' }, 400, { ...invalid, code: 'invalid_json' }],
    [
      'a wrong type',
      { ...chat, payload: '{"model": 1, "messages": []}' },
      400,
      { type: 'invalid_request_error', param: 'model' },
    ],
    ['JSON that is no object', { ...chat, payload: 'null' }, 400, { type: 'invalid_request_error' }],
    ['an unknown model', { ...chat, payload: chatBody('x', { model: 'gpt' }) }, 404, { code: 'model_not_found', param: 'model' }],
    [
      'another content type',
      { ...chat, headers: { 'content-type': 'text/plain' }, payload: '{}' },
      415,
      { ...invalid, code: 'unsupported_media_type' },
    ],
    [
      'a compressed body',
      { ...chat, headers: { ...chat.headers, 'content-encoding': 'gzip' }, payload: '{}' },
      415,
      { code: 'unsupported_media_type' },
    ],
    ['a body that is too large', { ...chat, payload: `"${'x'.repeat(2000)}"` }, 413, { ...invalid, code: 'body_too_large' }],
    [
      'an unknown route',
      { method: 'POST', url: '/v1/nothing', headers: chat.headers, payload: '{' },
      404,
      { ...invalid, code: 'unknown_url' },
    ],
    ['an unknown route elsewhere', { method: 'GET', url: '/nothing?secret=1' }, 404, { ...invalid, code: 'unknown_url' }],
    [
      'a wrong method',
      { method: 'PUT', url: '/v1/chat/completions', payload: '{' },
      405,
      { ...invalid, code: 'method_not_allowed' },
    ],
    ['a bad escape in the URL', { method: 'GET', url: '/v1/models/%zz' }, 400, { ...invalid, code: 'invalid_request' }],
  ] as const)('%s: OpenAI’s envelope', async (_name, request, status, error) => {
    const { app, logLines } = create({ bodyLimitBytes: request.url.endsWith('completions') && status === 413 ? 1000 : 200_000 })
    const response = await app.inject(request as InjectOptions)
    expect(response.statusCode).toBe(status)
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(response.headers['x-request-id']).toMatch(/^req_/)
    expect(response.json()).toEqual({
      error: { message: expect.any(String), type: expect.any(String), param: null, code: expect.any(String), ...error },
    })
    expect(logged(logLines).filter(({ level }) => Number(level) >= 40)).toEqual([])
    expect(logLines.join('')).not.toContain('secret')
  })

  test('405 names the methods that are allowed, also to HEAD and OPTIONS', async () => {
    const { app } = create()
    for (const method of ['HEAD', 'OPTIONS', 'GET', 'DELETE'] as const) {
      const response = await app.inject({ method, url: '/v1/chat/completions' })
      expect(response.statusCode).toBe(405)
      expect(response.headers.allow).toBe('POST')
    }
    expect((await app.inject({ method: 'POST', url: '/v1/models' })).headers.allow).toBe('GET, HEAD')
  })

  test('a failure of ours is a 500 without details, and the log has them', async () => {
    const engine: Engine = { ...fake(), prepare: () => Promise.reject(new TypeError('inner detail')) }
    const { app, logLines } = create({ engine })
    const response = await app.inject({ ...chat, payload: chatBody('hi') })
    expect(response.statusCode).toBe(500)
    expect(response.body).not.toContain('inner detail')
    const [entry] = logged(logLines).filter(({ level }) => level === 50)
    expect(JSON.stringify(entry)).toContain('inner detail')
    expect(entry).toMatchObject({ requestId: response.headers['x-request-id'] })
  })

  test.each([
    [1, '1'],
    [1000, '1'],
    [1001, '2'],
  ])('a wait of %i ms is the header retry-after: %s', async (retryAfterMs, seconds) => {
    const engine: Engine = { ...fake(), prepare: () => Promise.reject(new AppError('queue-full', 'busy', { retryAfterMs })) }
    const response = await create({ engine }).app.inject({ ...chat, payload: chatBody('hi') })
    expect(response.statusCode).toBe(429)
    expect(response.headers['retry-after']).toBe(seconds)
  })

  test('what is not HTTP gets an envelope too', async () => {
    const { listen } = create()
    const socket = connect(await listen(), '127.0.0.1').setEncoding('utf8')
    socket.write('NONSENSE\r\n\r\n')
    let text = ''
    for await (const chunk of socket) text += chunk
    expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    expect(JSON.parse(text.split('\r\n\r\n')[1] ?? '')).toMatchObject({ error: { code: 'invalid_request' } })
  })
})

test.each([true, false])(
  'the last log line of a generation has the id of its reply and its model (stream: %s)',
  async (stream) => {
    const { app, logLines } = create()
    const { body } = await app.inject({ ...chat, payload: chatBody('hi', { stream }) })
    const generationId = /"id":"(chatcmpl-[^"]+)"/.exec(body)?.[1]
    expect(logged(logLines)).toContainEqual(
      expect.objectContaining({ msg: 'request ended', status: 200, generationId, model: 'org/fake' }),
    )
  },
)

describe('a reply in one piece that nobody reads', () => {
  test('does not hold its connection for ever, and is no success', async () => {
    const { app, listen, deps } = create({ engine: oneText(largeText), stalledReaderMs: 50 })
    const arrived = once(app.server, 'connection')
    const request = sendChat(await listen(), chatBody('x'))
    const [accepted] = await arrived
    const closed = once(accepted, 'close')
    const response = await receive(request)
    response.pause()
    await closed
    expect(await deps.metrics.render()).toContain('{route="/v1/chat/completions",status="499"} 1')
    response.destroy()
  })

  test('is a 499 when the client leaves in the middle of it', async () => {
    const { app, listen, deps } = create({ engine: oneText(largeText) })
    const arrived = once(app.server, 'connection')
    const request = sendChat(await listen(), chatBody('x'))
    const [accepted] = await arrived
    // Not `once`, which fails with the connection's error.
    const closed = new Promise((resolve) => accepted.once('close', resolve))
    await receive(request)
    request.destroy()
    await closed
    expect(await deps.metrics.render()).toContain('{route="/v1/chat/completions",status="499"} 1')
  })

  test.each(['keep-alive', 'close'])('is a success when it is read (connection: %s)', async (connection) => {
    const { listen, deps } = create({ engine: oneText(largeText) })
    const response = await receive(sendChat(await listen(), chatBody('x'), { headers: { connection } }))
    await readAll(response)
    await vi.waitFor(async () => expect(await deps.metrics.render()).toContain('{route="/v1/chat/completions",status="200"} 1'))
  })
})

test('the last log line of another request names no generation', async () => {
  const { app, logLines } = create()
  await app.inject('/v1/models')
  const ended = logged(logLines).filter(({ msg }) => msg === 'request ended')
  expect(ended.map((line) => [line.route, 'generationId' in line])).toEqual([['/v1/models', false]])
})

test('a refused request is logged without its message, which may quote the prompt', async () => {
  const { app, logLines } = create()
  await app.inject({ ...chat, payload: chatBody('x', { temperature: 'a private word' }) })
  expect(logged(logLines)).toContainEqual(expect.objectContaining({ level: 30, code: 'invalid-request', param: 'temperature' }))
  expect(logLines.join('')).not.toContain('private')
})

test('connections outlive the pools of clients, and send at once', () => {
  const { server } = create().app
  expect(server.requestTimeout).toBe(120_000)
  expect(server.keepAliveTimeout).toBeGreaterThan(65_000)
  expect(server).toMatchObject({ noDelay: true })
})

describe('what is no request', () => {
  async function exchange(port: number, ...parts: readonly string[]): Promise<string> {
    const socket = connect(port, '127.0.0.1').setEncoding('utf8')
    socket.on('error', () => undefined)
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    const closed = once(socket, 'close')
    for (const part of parts.slice(0, -1)) {
      socket.write(part)
      await once(socket, 'data')
    }
    socket.write(parts.at(-1) ?? '')
    await closed
    return text
  }
  const health = 'GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n'

  test('is told so as well when the connection has had a reply', async () => {
    const text = await exchange(await create().listen(), health, 'NONSENSE\r\n\r\n')
    expect(text).toMatch(/^HTTP\/1\.1 200 OK.*HTTP\/1\.1 400 Bad Request.*the request is not valid HTTP/s)
  })

  test('gets no word into a reply that is on its way', async () => {
    const { listen } = create()
    const body = chatBody({ chunks: ['a'], delayMs: 3_000_000 })
    const head = 'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n'
    const text = await exchange(await listen(), `${head}content-length: ${body.length}\r\n\r\n${body}NONSENSE\r\n\r\n`)
    expect(text).toBe('')
  })

  test('headers that are too large are told by their own status', async () => {
    const text = await exchange(await create().listen(), `GET /health HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`)
    expect(text).toMatch(/^HTTP\/1\.1 431 Request Header Fields Too Large\r\n.*headers/s)
  })

  test('a second request that does not arrive in time is told so', async () => {
    const text = await exchange(await create({ requestTimeoutMs: 100 }).listen(), health, halfRequest)
    expect(text).toMatch(/^HTTP\/1\.1 200 OK.*HTTP\/1\.1 408 Request Timeout/s)
  })
})

describe('a request that does not arrive in time', () => {
  test('is told so, and its connection is closed, even if the client keeps its side open', async () => {
    const { app, listen } = create({ requestTimeoutMs: 100 })
    const arrived = once(app.server, 'connection')
    const socket = connect({ port: await listen(), host: '127.0.0.1', allowHalfOpen: true }).setEncoding('utf8')
    socket.write(halfRequest)
    const [accepted] = await arrived
    const serverSideClosed = Promise.all([once(accepted, 'close'), once(socket, 'end')])
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    await serverSideClosed
    expect(text).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n.*the request took too long to arrive/s)
    socket.destroy()
  })

  test('has nothing to do with how long its reply takes', async () => {
    const { listen } = create({ requestTimeoutMs: 100 })
    const port = await listen()
    const body = chatBody({ chunks: ['a', 'b', 'c'], delayMs: 200 }, { stream: true })
    expect(await readAll(await receive(sendChat(port, body)))).toContain('[DONE]')
  })
})

describe('large bodies', () => {
  test('two megabytes over a real socket are answered', async () => {
    const { listen } = create()
    const response = await receive(sendChat(await listen(), chatBody('word '.repeat(400_000), { max_tokens: 2 })))
    expect(JSON.parse(await readAll(response)).choices[0].message.content).toBe('word word')
  })

  test.each([{ 'content-length': '3000021' }, { 'transfer-encoding': 'chunked' }])(
    'a body over the limit gets its 413 (%j)',
    async (headers) => {
      const { listen } = create({ bodyLimitBytes: 100_000 })
      const body = chatBody('')
      const response = await receive(sendChat(await listen(), body.padEnd(3_000_021), { headers }))
      expect(response.statusCode).toBe(413)
      expect(JSON.parse(await readAll(response)).error.code).toBe('body_too_large')
    },
  )
})

describe('routes', () => {
  test('one without a scope does not start', () => {
    const { app } = create()
    expect(() => app.get('/open', () => 'x')).toThrow('the route GET /open declares no scope')
  })

  test('models are listed with what we know about them', async () => {
    const { app } = create()
    const model = {
      id: 'org/fake',
      object: 'model',
      created: 1_700_000_000,
      owned_by: 'dragoman',
      context_length: 100,
      state: 'stopped',
      aliases: ['default'],
    }
    expect((await app.inject('/v1/models')).json()).toEqual({ object: 'list', data: [model] })
    expect((await app.inject('/v1/models/')).json()).toEqual({ object: 'list', data: [model] })
    expect((await app.inject('/v1/models/org/fake')).json()).toEqual(model)
    expect((await app.inject('/v1/models/org%2Ffake')).json()).toEqual(model)
    expect((await app.inject('//v1/models/default/')).json()).toEqual(model)
    const head = await app.inject({ method: 'HEAD', url: '/v1/models' })
    expect([head.statusCode, head.body]).toEqual([200, ''])
  })

  test('a model that is not there is a 404 that says what there is', async () => {
    const response = await create().app.inject('/v1/models/org/other')
    expect(response.statusCode).toBe(404)
    expect(response.json()).toMatchObject({
      error: { code: 'model_not_found', message: expect.stringMatching(/'org\/other'.*org\/fake/) },
    })
  })

  test('a model that is loading tells how far it is', async () => {
    const engine = { ...fake(), state: { type: 'loading', progress: 0.25 } as const }
    const { app } = create({ engine })
    expect((await app.inject('/ready')).json()).toMatchObject({ models: [{ id: 'org/fake', state: 'loading', progress: 0.25 }] })
  })

  test('the server is healthy at once, and ready when the models that load at start are', async () => {
    const engine = fake()
    const { app } = create({ engine })
    expect((await app.inject('/health')).json()).toEqual({ status: 'ok', version: '1.2.3' })
    const before = await app.inject('/ready')
    expect([before.statusCode, before.json()]).toEqual([
      503,
      { status: 'not-ready', models: [{ id: 'org/fake', state: 'stopped' }] },
    ])
    await engine.ensureReady(new AbortController().signal)
    const after = await app.inject('/ready')
    expect([after.statusCode, after.json()]).toEqual([200, { status: 'ready', models: [{ id: 'org/fake', state: 'ready' }] }])
  })

  test('metrics count routes by pattern, and what was generated', async () => {
    const { app } = create()
    await app.inject('/v1/models/org/fake')
    await app.inject('/nothing')
    await app.inject({ ...chat, payload: chatBody('one two') })
    const response = await app.inject('/metrics')
    expect(response.headers['content-type']).toContain('text/plain')
    expect(response.body).toContain('dragoman_http_requests_total{route="/v1/models/*",status="200"} 1')
    expect(response.body).toContain('dragoman_http_requests_total{route="unmatched",status="404"} 1')
    expect(response.body).toContain('dragoman_output_tokens_total{model="org/fake"} 2')
    expect(response.body).toContain('dragoman_generation_duration_seconds_count{model="org/fake",outcome="ok"} 1')
    expect(response.body).toContain('dragoman_slots_busy{model="org/fake"} 0')
    expect(response.body).toContain('dragoman_requests_in_flight 1')
  })
})

describe('who may call', () => {
  const locked = () => create({ auth: { apiKeyHashes: [hashApiKey(key)] } })

  test.each(['/v1/models', '/metrics'])('%s needs a key when there is one', async (url) => {
    const { app, logLines } = locked()
    const refused = await app.inject({ url, headers: { authorization: 'Bearer wrong' } })
    expect(refused.statusCode).toBe(401)
    expect(refused.headers['www-authenticate']).toBe('Bearer')
    expect(refused.json()).toMatchObject({
      error: { code: 'invalid_api_key', message: expect.stringContaining('x-api-key: KEY') },
    })
    expect((await app.inject({ url, headers: { authorization: `Bearer ${key}` } })).statusCode).toBe(200)
    expect((await app.inject({ url, headers: { 'x-api-key': key } })).statusCode).toBe(200)
    expect(logLines.join('')).not.toContain(key)
  })

  test('without a key the body is not even read', async () => {
    const response = await locked().app.inject({ ...chat, payload: '{' })
    expect(response.statusCode).toBe(401)
  })

  test.each(['/health', '/ready'])('%s is public', async (url) => {
    expect((await locked().app.inject(url)).statusCode).not.toBe(401)
  })

  test('a host name that is not ours is refused on every route, by name', async () => {
    const { app } = create()
    for (const url of ['/health', '/v1/models', '/nothing']) {
      const response = await app.inject({ url, headers: { host: 'evil.example:7411' } })
      expect(response.statusCode).toBe(403)
      expect(response.json()).toMatchObject({
        error: { code: 'host_not_allowed', message: expect.stringMatching(/evil\.example.*server\.allowedHosts/) },
      })
    }
    expect((await app.inject({ url: '/health', headers: { host: '[::1]:7411' } })).statusCode).toBe(200)
  })

  test('HTTP/1.0 without a host is served', async () => {
    const { listen } = create()
    const socket = connect(await listen(), '127.0.0.1').setEncoding('utf8')
    socket.write('GET /health HTTP/1.0\r\n\r\n')
    let text = ''
    for await (const chunk of socket) text += chunk
    expect(text).toMatch(/^HTTP\/1\.1 200 OK/)
  })
})

describe('request ids', () => {
  test.each(['trace-42', '!', 'x'.repeat(128), 'with space'])('the caller’s id %j is echoed and logged', async (id) => {
    const { app, logLines } = create()
    const response = await app.inject({ url: '/v1/models', headers: { 'x-request-id': id } })
    expect(response.headers['x-request-id']).toBe(id)
    expect(logged(logLines)).toContainEqual(expect.objectContaining({ requestId: id, route: '/v1/models', status: 200 }))
  })

  test.each(['', 'x'.repeat(129), 'é'])('%j is replaced by one of ours', async (id) => {
    const response = await create().app.inject({ url: '/v1/models', headers: { 'x-request-id': id } })
    expect(response.headers['x-request-id']).toMatch(/^req_[\da-f]{32}$/)
  })

  test('it is on streams and replies, and is never the id of the generation', async () => {
    const { app } = create()
    for (const stream of [true, false]) {
      const headers = { ...chat.headers, 'x-request-id': 'mine' }
      const responses = await Promise.all([1, 2].map(() => app.inject({ ...chat, headers, payload: chatBody('hi', { stream }) })))
      expect(responses.map((response) => [response.statusCode, response.headers['x-request-id']])).toEqual([
        [200, 'mine'],
        [200, 'mine'],
      ])
      expect(responses[0]?.body).toMatch(/"id":"chatcmpl-/)
    }
  })
})

describe('shutting down', () => {
  const longReply = { chunks: ['a', 'b'], delayMs: 3_000_000 }

  test('running requests may finish, and the listening socket is closed at once', async () => {
    const watched = watchEngine(fake())
    const { listen, drain } = create({ engine: watched.engine })
    const port = await listen()
    const request = sendChat(port, chatBody({ chunks: ['a', 'b'], delayMs: 20 }, { stream: true }))
    await watched.started()
    const drained = drain(60_000)
    const [error] = await once(connect(port, '127.0.0.1'), 'error')
    expect(error).toMatchObject({ code: 'ECONNREFUSED' })
    expect(await readAll(await receive(request))).toContain('[DONE]')
    await drained
  })

  test('a request that comes over an open connection is told to go elsewhere', async () => {
    const watched = watchEngine(fake())
    const { listen, drain } = create({ engine: watched.engine })
    const socket = connect(await listen(), '127.0.0.1').setEncoding('utf8')
    const body = chatBody({ chunks: ['a', 'b'], delayMs: 50 })
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
    socket.write(`${head}\r\n\r\n${body}`)
    await watched.started()
    const drained = drain(60_000)
    socket.write('GET /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n')
    let text = ''
    for await (const chunk of socket) text += chunk
    const [first, second] = text.split(/(?=HTTP\/1\.1 503)/)
    expect(first).toMatch(/^HTTP\/1\.1 200 OK/)
    expect(second?.toLowerCase()).toMatch(/connection: close.*shutting_down/s)
    await drained
  })

  test('what still runs after the grace period is cancelled, and says so', async () => {
    const watched = watchEngine(fake())
    const { listen, drain, deps } = create({ engine: watched.engine })
    const request = sendChat(await listen(), chatBody(longReply))
    await watched.started()
    const drained = drain(1)
    const response = await receive(request)
    expect(response.statusCode).toBe(503)
    expect(JSON.parse(await readAll(response)).error.code).toBe('shutting_down')
    expect(await watched.ended()).toEqual({ aborted: true })
    await drained
    expect(await deps.metrics.render()).toContain('dragoman_cancellations_total{reason="shutting-down"} 1')
  })

  test('a reply that has ended and is not closed yet is not counted as cancelled again', async () => {
    const cancellations = new Cancellations()
    cancellations.open('stopped')
    cancellations.cancel('stopped', 'client-gone')
    const watched = watchEngine(fake())
    const { listen, drain, deps } = create({ engine: watched.engine, cancellations })
    const request = sendChat(await listen(), chatBody(longReply))
    await watched.started()
    await Promise.all([receive(request), drain(1)])
    expect(await deps.metrics.render()).toContain('dragoman_cancellations_total{reason="shutting-down"} 1')
  })

  test('a request whose body is not complete does not hold it up', async () => {
    const { app, listen, drain, deps } = create()
    const arrived = once(app.server, 'request')
    const socket = connect(await listen(), '127.0.0.1').resume()
    const closed = once(socket, 'close')
    socket.on('error', () => undefined)
    socket.write(halfRequest)
    await arrived
    await drain(60_000)
    await closed
    expect(await deps.metrics.render()).toContain('{route="/v1/chat/completions",status="499"} 1')
  })

  test('a reply that is written and not yet read is sent whole within the grace', async () => {
    const { listen, drain } = create({ engine: oneText(largeText) })
    const response = await receive(sendChat(await listen(), chatBody('x')))
    response.pause()
    const drained = drain(60_000)
    expect((await readAll(response)).length).toBeGreaterThan(largeText.length)
    await drained
  })

  test('connections that only wait for a next request do not hold it up', async () => {
    const { listen, drain } = create()
    const socket = connect(await listen(), '127.0.0.1').setEncoding('utf8')
    socket.write('GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n')
    await once(socket, 'data')
    const closed = once(socket, 'close')
    await drain(60_000)
    await closed
  })
})
