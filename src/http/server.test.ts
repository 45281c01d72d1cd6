import { connect } from 'node:net'
import type { InjectOptions } from 'fastify'
import { describe, expect, test } from 'vitest'
import { chatBody, openTestServer, openWatchedServer, readAll, receive, sendChat } from '../../test/support/http/test-server.ts'
import type { Engine } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import { createFakeEngine } from '../engine/fake/engine.ts'

const fake = () => createFakeEngine({ script: 'from-request' })
const chat = { method: 'POST', url: '/v1/chat/completions', headers: { 'content-type': 'application/json' } } as const

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
    const { app, logLines } = openTestServer({
      bodyLimitBytes: request.url.endsWith('completions') && status === 413 ? 1000 : 200_000,
    })
    const response = await app.inject(request as InjectOptions)
    expect(response.statusCode).toBe(status)
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(response.headers['x-request-id']).toMatch(/^req_/)
    expect(response.json()).toEqual({
      error: { message: expect.any(String), type: expect.any(String), param: null, code: expect.any(String), ...error },
    })
    expect(logged(logLines).filter(({ level }) => Number(level) >= 40)).toEqual([])
    expect(logLines.join('')).not.toContain('secret')
    expect((await app.inject('/metrics')).body).toMatch(new RegExp(`dragoman_http_requests_total.*status="${status}"} 1`))
  })

  test('405 lists the allowed methods, also for HEAD and OPTIONS', async () => {
    const { app } = openTestServer()
    for (const method of ['HEAD', 'OPTIONS', 'GET', 'DELETE'] as const) {
      const response = await app.inject({ method, url: '/v1/completions' })
      expect(response.statusCode).toBe(405)
      expect(response.headers.allow).toBe('POST')
    }
    expect((await app.inject({ method: 'POST', url: '/v1/models' })).headers.allow).toBe('GET, HEAD')
  })

  test.each([
    ['PUT', '//v1/completions/?a=1', 'POST'],
    ['PUT', '/v1/models/org/fake', 'GET, HEAD'],
    ['PATCH', '/api/requests/1', 'GET, HEAD'],
    ['GET', '/v1/responses/compact', 'POST'],
    ['DELETE', '/v1/responses/compact', 'POST'],
    ['HEAD', '/v1/chat/completions/input_tokens', 'POST'],
  ] as const)('405 to %s %s, whose path is served with %s', async (method, url, allow) => {
    const { statusCode, headers } = await openTestServer().app.inject({ method, url })
    expect([statusCode, headers.allow]).toEqual([405, allow])
  })

  test('an internal failure is a 500 without details, which are in the log', async () => {
    const engine: Engine = { ...fake(), prepare: () => Promise.reject(new TypeError('inner detail')) }
    const { app, logLines } = openTestServer({ engine })
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
    const response = await openTestServer({ engine }).app.inject({ ...chat, payload: chatBody('hi') })
    expect(response.statusCode).toBe(429)
    expect(response.headers['retry-after']).toBe(seconds)
  })

  test('what is not HTTP gets an envelope too', async () => {
    const { listen } = openTestServer()
    const socket = connect(await listen(), '127.0.0.1').setEncoding('utf8')
    socket.write('NONSENSE\r\n\r\n')
    let text = ''
    for await (const chunk of socket) text += chunk
    expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    expect(JSON.parse(text.split('\r\n\r\n')[1] ?? '')).toMatchObject({ error: { code: 'invalid_request' } })
  })
})

test('connections outlive client pools, and send without delay', () => {
  const { server } = openTestServer().app
  expect(server.requestTimeout).toBe(120_000)
  expect(server.keepAliveTimeout).toBeGreaterThan(65_000)
  expect(server).toMatchObject({ noDelay: true })
})

describe('large bodies', () => {
  test('two megabytes over a real socket are answered', async () => {
    const { listen } = openTestServer()
    const response = await receive(sendChat(await listen(), chatBody('word '.repeat(400_000), { max_tokens: 2 })))
    expect(JSON.parse(await readAll(response)).choices[0].message.content).toBe('word word')
  })

  test.each([{ 'content-length': '3000021' }, { 'transfer-encoding': 'chunked' }])(
    'a body over the limit gets its 413 (%j)',
    async (headers) => {
      const { listen } = openTestServer({ bodyLimitBytes: 100_000 })
      const body = chatBody('')
      const response = await receive(sendChat(await listen(), body.padEnd(3_000_021), { headers }))
      expect(response.statusCode).toBe(413)
      expect(JSON.parse(await readAll(response)).error.code).toBe('body_too_large')
    },
  )
})

test('a client that is still sending a body over the limit keeps its connection', async () => {
  const { listen } = openTestServer({ bodyLimitBytes: 100_000 })
  const socket = connect(await listen(), '127.0.0.1')
  const head = 'POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n'
  socket.write(`${head}content-length: 300000\r\n\r\n${' '.repeat(200_000)}`)
  let text = ''
  socket.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
  })
  await expect.poll(() => text).toContain('body_too_large')
  const body = chatBody('short')
  socket.write(`${' '.repeat(100_000)}${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
  await expect.poll(() => text).toContain('HTTP/1.1 200 OK')
  socket.destroy()
})

describe('bodies that would hold up everybody else', () => {
  test.each([
    ['values', '1,'.repeat(1_000_001), 413, 'body_too_large', /more than 1000000 values/],
    ['lists', '[1],'.repeat(250_001), 413, 'body_too_large', /more than 250000 lists/],
    ['texts', '"a",'.repeat(200_001), 413, 'body_too_large', /more than 200000 texts/],
    ['fields', '{"a":1},'.repeat(60_001), 413, 'body_too_large', /more than 45000 named fields/],
    ['levels', '['.repeat(200), 400, 'invalid_json', /128 levels deep/],
  ])('one of too many %s is refused before it is parsed', async (_, prompt, status, code, message) => {
    const { listen } = openTestServer()
    const response = await receive(sendChat(await listen(), `{"model":"default","prompt":[${prompt}1]}`))
    expect(response.statusCode).toBe(status)
    expect(JSON.parse(await readAll(response)).error).toMatchObject({ code, message: expect.stringMatching(message) })
  })

  test('one that finds no room beside those in flight gets 503, and short ones pass', async () => {
    const { port, watched } = await openWatchedServer({ totalBodyLimitBytes: 1_000_000 })
    const slow = sendChat(port, chatBody({ raw: 'a b', delayMs: 3_600_000 }, { stream: true, user: 'x'.repeat(800_000) }))
    await watched.started()
    const refused = await receive(sendChat(port, chatBody('word '.repeat(100_000))))
    expect(refused.statusCode).toBe(503)
    expect(refused.headers['retry-after']).toBe('1')
    expect(JSON.parse(await readAll(refused)).error.code).toBe('overloaded')
    expect((await receive(sendChat(port, chatBody('short')))).statusCode).toBe(200)
    slow.destroy()
    const long = chatBody('word '.repeat(100_000), { max_tokens: 1 })
    await expect.poll(async () => (await receive(sendChat(port, long))).statusCode).toBe(200)
  })
})

describe('routes', () => {
  test('a route without a scope throws at start', () => {
    const { app } = openTestServer()
    expect(() => app.get('/open', () => 'x')).toThrow('the route GET /open declares no scope')
  })

  test('models are listed with their details', async () => {
    const facts = { sizeBytes: 1, modifiedAtMs: 0, quantization: 'Q8_0', contextLength: 100, trainedContextLength: 200 }
    const { app } = openTestServer({
      modelFiles: {
        plan: async () => undefined,
        describe: async () => facts,
        estimate: () => expect.fail('nothing is estimated'),
      },
    })
    const model = {
      id: 'org/fake',
      object: 'model',
      created: 1_700_000_000,
      owned_by: 'dragoman',
      context_length: 100,
      max_context_length: 100,
      native_context_length: 200,
      quant: 'Q8_0',
      state: 'stopped',
      loaded: false,
      aliases: ['default'],
      tags: [],
      status: { value: 'unloaded', args: [] },
      source: 'preset',
      can_remove: false,
    }
    expect((await app.inject('/v1/models')).json()).toEqual({ object: 'list', data: [model] })
    expect((await app.inject('/v1/models/')).json()).toEqual({ object: 'list', data: [model] })
    expect((await app.inject('/v1/models/org/fake')).json()).toEqual(model)
    expect((await app.inject('/v1/models/org%2Ffake')).json()).toEqual(model)
    expect((await app.inject('//v1/models/default/')).json()).toEqual(model)
    const head = await app.inject({ method: 'HEAD', url: '/v1/models' })
    expect([head.statusCode, head.body]).toEqual([200, ''])
  })

  test.each([
    ['/v1/chat/completions', { messages: [{ role: 'user', content: 'x' }] }],
    ['/v1/completions', { prompt: 'x' }],
    ['/v1/embeddings', { input: 'x' }],
    ['/v1/rerank', { query: 'x', documents: ['x'] }],
    ['/v1/token/encode', { text: 'x' }],
    ['/tokenize', { content: 'x' }],
  ])('a model whose name looks like the place of a field is not there either: POST %s', async (url, body) => {
    for (const path of [
      '["model"]',
      '["constructor"]',
      '["__proto__",0]',
      '[]',
      '["prompt","messages",-1,"content",1e308]',
      '[',
    ]) {
      const payload = { ...body, model: `\ue000${path}\ue001` }
      const response = await openTestServer().app.inject({ method: 'POST', url, payload })
      expect([response.statusCode, response.json().error.code]).toEqual([404, 'model_not_found'])
    }
  })

  test('an unknown model is a 404 that lists the known ones', async () => {
    const response = await openTestServer().app.inject('/v1/models/org/other')
    expect(response.statusCode).toBe(404)
    expect(response.json()).toMatchObject({
      error: { code: 'model_not_found', message: expect.stringMatching(/'org\/other'.*org\/fake/) },
    })
  })

  test('a loading model reports its progress', async () => {
    const engine = { ...fake(), state: { type: 'loading', progress: 0.25 } as const }
    const { app } = openTestServer({ engine })
    expect((await app.inject('/ready')).json()).toMatchObject({ models: [{ id: 'org/fake', state: 'loading', progress: 0.25 }] })
  })

  test('the server is healthy at once, and ready when the required models are', async () => {
    const engine = fake()
    const { app } = openTestServer({ engine })
    for (const path of ['/health', '/api/health']) {
      expect((await app.inject(path)).json()).toEqual({ status: 'ok', version: '1.2.3' })
    }
    const before = await app.inject('/ready')
    expect([before.statusCode, before.json()]).toEqual([
      503,
      { status: 'not-ready', models: [{ id: 'org/fake', state: 'stopped', required: true }] },
    ])
    await engine.ensureReady(new AbortController().signal)
    const after = await app.inject('/ready')
    expect([after.statusCode, after.json()]).toEqual([
      200,
      { status: 'ready', models: [{ id: 'org/fake', state: 'ready', required: true }] },
    ])
  })

  test('metrics count routes by pattern, and what was generated', async () => {
    const { app } = openTestServer()
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
