import { getEventListeners, setMaxListeners } from 'node:events'
import { gzipSync } from 'node:zlib'
import { pino } from 'pino'
import { afterEach, describe, expect, test } from 'vitest'
import { until } from '../../../test/support/app.ts'
import {
  type Answer,
  chatChunk,
  doneLine,
  type ScriptedUpstream,
  startUpstream,
  streamOf,
  usageChunk,
} from '../../../test/support/upstream.ts'
import type { Engine } from '../../core/engine.ts'
import type { AppError } from '../../core/errors.ts'
import { generate } from '../../core/generate.ts'
import { type GenerationRequest, plainChat, plainRequest, type Tool } from '../../core/request.ts'
import { foldEvents, type GenerationResult } from '../../core/result.ts'
import { Admission } from '../../core/schedule/admission.ts'
import { UpstreamClient } from './client.ts'
import { createRemoteEngine, type RemoteEngineOptions } from './engine.ts'
import { readStream } from './read-reply.ts'

const never = new AbortController().signal
setMaxListeners(0, never)
const open: { close(): Promise<void> }[] = []
const lines: string[] = []
const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) })
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

async function upstream(...args: Parameters<typeof startUpstream>): Promise<ScriptedUpstream> {
  const started = await startUpstream(...args)
  open.push(started)
  return started
}

function engineOver(servers: readonly ScriptedUpstream[], options: Partial<RemoteEngineOptions> = {}): Engine {
  const endpoints = servers.map(({ url }) => ({ url, weight: 1, apiKey: 'sk-very-secret' }))
  const engine = createRemoteEngine({ id: 'up', endpoints, connections: 16, log, random: () => 0, ...options })
  open.push(engine)
  return engine
}

function ask(text: string, options: Partial<GenerationRequest> = {}, tools: readonly Tool[] = []): GenerationRequest {
  const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text }] }]
  return { ...plainRequest, id: 'x', model: 'up', prompt: { type: 'chat', ...plainChat, messages, tools }, ...options }
}

function answer(engine: Engine, request: GenerationRequest, signal = never): Promise<GenerationResult> {
  const served = { id: 'up', engine, admission: new Admission({ slots: 32, maxQueued: 32 }) }
  const deps = { resolveModel: () => served, now: () => performance.now() }
  return foldEvents(generate(deps, request, signal).events)
}

function failure(engine: Engine, request = ask('hi'), signal = never): Promise<AppError> {
  return answer(engine, request, signal).then(
    () => expect.unreachable('it should have failed'),
    (error: unknown) => error as AppError,
  )
}

const fine: Answer = streamOf(chatChunk({ delta: { content: 'ok' }, finish_reason: 'stop' }), usageChunk(3, 1), doneLine)

function refusing(status: number, body: string | Buffer, headers: Record<string, string> = {}): Answer {
  return (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(body)
  }
}

const html = '<!doctype html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>'

describe('what a server refuses', () => {
  test.each([
    [400, '{"error":{"message":"no such thing"}}', { code: 'invalid-request', status: 400, message: 'no such thing' }],
    [422, '{"detail":[{"msg":"field required"}]}', { code: 'invalid-request', status: 400 }],
    [413, '', { code: 'body-too-large', status: 413 }],
    [401, '{"error":{"message":"Incorrect API key provided: sk-very-secret"}}', { code: 'model-unavailable', status: 503 }],
    [403, 'forbidden', { code: 'model-unavailable', status: 503 }],
    [404, '{"detail":"Not Found"}', { code: 'model-unavailable', status: 503 }],
    [301, '', { code: 'model-unavailable', status: 503 }],
    [429, '{"error":"slow down"}', { code: 'queue-full', status: 429 }],
    [500, html, { code: 'engine-failed', status: 500, message: 'the server behind this model failed: 502 Bad Gateway' }],
    [500, 'echo sk-very-secret', { code: 'engine-failed', status: 500 }],
    [503, '{"error":{"message":"Loading model"}}', { code: 'model-unavailable', status: 503 }],
  ])('with %i and %s is told in our words', async (status, body, wanted) => {
    lines.length = 0
    const server = await upstream(refusing(status, body, { location: 'http://elsewhere/v1?key=abc' }))
    const error = await failure(engineOver([server]))
    expect(error).toMatchObject(wanted)
    expect(`${error.message}${lines.join('')}`).not.toContain('sk-very-secret')
    expect(error.message).not.toContain('key=abc')
    expect(error.message).not.toContain('<')
  })

  test('how long to wait is passed on', async () => {
    const server = await upstream(refusing(429, '{}', { 'retry-after': '120' }))
    expect(await failure(engineOver([server]))).toMatchObject({ code: 'queue-full', retryAfterMs: 120_000 })
    expect(server.seen).toHaveLength(1)
  })

  test.each([
    ['an endless page', 'x'.repeat(5_000_000), {}],
    ['a compressed page', gzipSync('boom'), { 'content-encoding': 'gzip' }],
  ])('%s is no more than a status', async (_, body, headers) => {
    const server = await upstream(refusing(400, body, headers))
    const error = await failure(engineOver([server]))
    expect(error.code).toBe('invalid-request')
    expect(error.message.length).toBeLessThan(600)
    expect(error.message).toMatch(/^[ -~…]*$/)
  })

  test.each([
    ['a page instead of a reply', refusing(200, html, { 'content-type': 'text/html' })],
    ['a compressed reply', refusing(200, gzipSync('{}'), { 'content-encoding': 'gzip' })],
    ['an error in a whole reply', refusing(200, '{"error":{"message":"boom"}}')],
    ['an error as the first event', streamOf('data: {"error":{"message":"boom","code":500}}\n\n')],
    ['an event named error', streamOf('event: error\ndata: {"message":"boom"}\n\n')],
    ["vLLM's older error", streamOf('data: {"object":"error","message":"boom","code":500}\n\n')],
    ['nothing at all', streamOf()],
    ['a key that it does not accept', refusing(401, '')],
    ['a model that it does not have', refusing(404, '')],
  ])('%s is a reason to ask another one', async (_, bad) => {
    const [broken, sound] = [await upstream(bad), await upstream(fine)]
    const engine = engineOver([broken, sound])
    for (let turn = 0; turn < 3; turn++) expect((await answer(engine, ask(`hi ${turn}`))).choices[0]?.text).toBe('ok')
    expect(broken.seen.length).toBeGreaterThan(0)
  })

  test.each([
    ['a code', { message: 'bad schema', code: 400 }],
    ['a type', { message: 'bad schema', type: 'invalid_request_error' }],
  ])("an error in a stream that is the caller's, by %s, is the caller's", async (_, error) => {
    const server = await upstream(streamOf(`data: ${JSON.stringify({ error })}\n\n`))
    expect(await failure(engineOver([server]))).toMatchObject({ code: 'invalid-request', message: 'bad schema' })
    expect(server.seen).toHaveLength(1)
  })
})

describe('replies that are read leniently', () => {
  test.each(['text/plain', 'application/octet-stream', ''])('a stream that is called %j is a stream', async (contentType) => {
    const server = await upstream((request, response) => {
      response.writeHead(200, contentType === '' ? {} : { 'content-type': contentType })
      response.end(`: hello\n\n${chatChunk({ delta: { content: 'ok' }, finish_reason: 'stop' })}${usageChunk(1, 1)}${doneLine}`)
      void request
    })
    expect((await answer(engineOver([server]), ask('hi'))).choices).toMatchObject([{ text: 'ok' }])
  })

  test.each(['', 'null'])('a finish reason of %j is none', async (word) => {
    const whole = [
      chatChunk({ delta: { content: 'o' }, finish_reason: word }),
      chatChunk({ delta: { content: 'k' }, finish_reason: word }),
    ]
    const cut = await upstream(streamOf(...whole, doneLine))
    expect(await failure(engineOver([cut]))).toMatchObject({ code: 'engine-failed' })
    const sound = await upstream(streamOf(...whole, chatChunk({ delta: {}, finish_reason: 'length' }), doneLine))
    expect((await answer(engineOver([sound]), ask('hi'))).choices).toMatchObject([{ text: 'ok', finish: { reason: 'length' } }])
  })

  test('thoughts among the parts of a content are reasoning', async () => {
    const parts = [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }]
    const server = await upstream(
      streamOf(
        chatChunk({ delta: { content: parts } }),
        chatChunk({ delta: { content: 'Yes' }, finish_reason: 'stop' }),
        doneLine,
      ),
    )
    expect((await answer(engineOver([server]), ask('hi'))).choices).toMatchObject([{ reasoning: 'Hm.', text: 'Yes' }])
  })

  test('two calls of index 0 without ids are two calls', async () => {
    const call = (city: string) =>
      chatChunk({ delta: { tool_calls: [{ index: 0, function: { name: 'go', arguments: `{"to":"${city}"}` } }] } })
    const server = await upstream(
      streamOf(call('Oslo'), call('Rome'), chatChunk({ delta: {}, finish_reason: 'tool_calls' }), doneLine),
    )
    const tool = { name: 'go', parameters: { type: 'object', properties: { to: { type: 'string' } } } }
    const { choices } = await answer(engineOver([server]), ask('hi', {}, [tool]))
    expect(choices[0]?.toolCalls.map(({ arguments: text }) => JSON.parse(text))).toEqual([{ to: 'Oslo' }, { to: 'Rome' }])
  })

  test.each([
    'The list [1, 2, 3] and the call [get_time()].',
    '{"name": "Bob", "age": 3}',
    'Write `<tool_call>` before and `</tool_call>` behind it.',
    '[{"name": "unknown_tool", "arguments": {}}]',
    'In Python: go(to="Oslo") prints it.',
  ])('a text that merely looks like a call stays one: %s', async (text) => {
    const pieces = [...text].map((letter) => chatChunk({ delta: { content: letter } }))
    const server = await upstream(streamOf(...pieces, chatChunk({ delta: {}, finish_reason: 'stop' }), doneLine))
    const { choices } = await answer(engineOver([server]), ask('hi', {}, [{ name: 'go' }]))
    expect(choices[0]).toMatchObject({ text, toolCalls: [], finish: { reason: 'stop' } })
  })

  test('each log-probability is told once, with text, reasoning, calls and stop texts', async () => {
    const told = (...texts: string[]) => ({
      logprobs: { content: texts.map((token) => ({ token, logprob: -1, bytes: null, top_logprobs: [] })) },
    })
    const call = (piece: object) => ({ tool_calls: [{ index: 0, ...piece }] })
    const server = await upstream(
      streamOf(
        chatChunk({ delta: { reasoning_content: 'a' }, ...told('a') }),
        chatChunk({ delta: { content: 'b E' }, ...told('b', ' E') }),
        chatChunk({ delta: { content: 'c' }, ...told('c') }),
        chatChunk({ delta: call({ id: '1', function: { name: 'go' } }), ...told('d') }),
        chatChunk({ delta: call({ function: { name: '_far', arguments: '' } }), ...told('e') }),
        chatChunk({ delta: call({ function: { arguments: '{"to":' } }), ...told('f') }),
        chatChunk({ delta: call({ function: { arguments: '1}' } }), ...told('g') }),
        chatChunk({ delta: {}, finish_reason: 'tool_calls' }),
        doneLine,
      ),
    )
    const request = ask('hi', { logprobs: { top: 0 }, stop: ['END'] }, [{ name: 'go' }, { name: 'go_far' }])
    const served = { id: 'up', engine: engineOver([server]), admission: new Admission({ slots: 1, maxQueued: 1 }) }
    const tokens: string[] = []
    for await (const event of generate({ resolveModel: () => served, now: () => 0 }, request, never).events) {
      if ('tokens' in event) tokens.push(...(event.tokens ?? []).map(({ text }) => text))
    }
    expect(tokens.toSorted()).toEqual(['a', 'b', ' E', 'c', 'd', 'e', 'f', 'g'].toSorted())
  })
})

describe('several servers', () => {
  test('one that never says what it is holds nobody up', async () => {
    const silent = await upstream(fine)
    silent.get = () => true
    const sound = await upstream(fine)
    const engine = engineOver([silent, sound])
    const startMs = performance.now()
    expect((await answer(engine, ask('hi'))).choices[0]?.text).toBe('ok')
    expect(performance.now() - startMs).toBeLessThan(2000)
  })

  test('they are asked what they are once, also by many at once, and by those that stay when the first leaves', async () => {
    const server = await upstream(fine)
    let listed = 0
    let release: () => void = () => undefined
    server.get = (path, response) => {
      if (path !== '/v1/models') return false
      listed += 1
      release = () => response.end(JSON.stringify({ data: [{ id: 'up' }] }))
      return true
    }
    const engine = engineOver([server])
    const first = new AbortController()
    const leaving = answer(engine, ask('hi'), first.signal)
    leaving.catch(() => undefined)
    const staying = Array.from({ length: 20 }, () => answer(engine, ask('hi')))
    await until(() => listed === 1)
    first.abort(new Error('gone'))
    await expect(leaving).rejects.toThrow()
    release()
    for (const { choices } of await Promise.all(staying)) expect(choices[0]?.text).toBe('ok')
    expect(listed).toBe(1)
  })

  test('a stop text is found across the break of an answer, also where another kind of server goes on', async () => {
    const first = await upstream(
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(chatChunk({ delta: { content: 'One E' } }), () => response.destroy())
      },
      { ownedBy: 'vllm' },
    )
    const second = await upstream(
      streamOf(
        chatChunk({ delta: { content: 'ND two' } }),
        chatChunk({ delta: {}, finish_reason: 'stop' }),
        usageChunk(4, 4),
        doneLine,
      ),
      { ownedBy: 'llamacpp' },
    )
    const { choices } = await answer(engineOver([first, second]), ask('hi', { stop: ['END'] }))
    expect(choices[0]).toMatchObject({ text: 'One ', finish: { reason: 'stop', stopSequence: 'END' } })
  })

  test('what was counted before an answer broke off counts, also where the other one counts nothing', async () => {
    const first = await upstream(
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        const usage = { prompt_tokens: 9, completion_tokens: 5 }
        response.write(chatChunk({ delta: { content: 'One ' } }, { usage }), () => response.destroy())
      },
      { ownedBy: 'vllm' },
    )
    const second = await upstream(streamOf(chatChunk({ delta: { content: 'two' }, finish_reason: 'stop' }), doneLine), {
      ownedBy: 'vllm',
    })
    const { choices, usage } = await answer(engineOver([first, second]), ask('hi'))
    expect(choices[0]?.text).toBe('One two')
    expect(usage).toMatchObject({ inputTokens: 9, outputTokens: 6 })
  })

  test('what goes on with an answer and refuses to is not the fault of the caller', async () => {
    const first = await upstream(
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(chatChunk({ delta: { content: 'One' } }), () => response.destroy())
      },
      { ownedBy: 'vllm' },
    )
    const second = await upstream(refusing(400, '{"error":{"message":"prefill is incompatible with thinking"}}'), {
      ownedBy: 'vllm',
    })
    expect(await failure(engineOver([first, second]))).toMatchObject({ code: 'engine-failed' })
  })

  test('choices come one at a time from a server that makes one, with seeds of their own, and one failure ends all', async () => {
    const silent: { closed: boolean }[] = []
    const server = await upstream(
      ({ body }, response) => {
        if (body.seed === 8) return refusing(400, '{"error":{"message":"not this one"}}')({} as never, response)
        const one = { closed: false }
        silent.push(one)
        response.once('close', () => {
          one.closed = true
        })
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.flushHeaders()
      },
      { ownedBy: 'llamacpp' },
    )
    const error = await failure(engineOver([server]), ask('hi', { choices: 3, sampling: { seed: 7 } }))
    expect(error).toMatchObject({ code: 'invalid-request', message: 'not this one' })
    await until(() => silent.every(({ closed }) => closed), 1000)
    expect(server.seen.map(({ body }) => body.seed).toSorted()).toEqual(expect.arrayContaining([7, 8]))
  })

  test('embeddings are had from another one when the first is gone', async () => {
    const gone = await upstream(fine)
    const sound = await upstream(refusing(200, '{"data":[{"index":0,"embedding":[1,2]}],"usage":{"prompt_tokens":1}}'))
    const engine = engineOver([gone, sound])
    await engine.ensureReady(never)
    await gone.close()
    for (let turn = 0; turn < 3; turn++) {
      const { vectors } = (await engine.embed?.([{ type: 'text', text: 'hi' }], never)) ?? { vectors: [] }
      expect([...(vectors[0] ?? [])]).toEqual([1, 2])
    }
  })
})

describe('nothing is left behind', () => {
  test('one connection serves one stream after the other, and no listener stays on a signal', async () => {
    const server = await upstream(fine)
    const engine = engineOver([server])
    const { signal } = new AbortController()
    await answer(engine, ask('hi'), signal)
    const before = server.accepted()
    for (let turn = 0; turn < 20; turn++) await answer(engine, ask('hi'), signal)
    expect(server.accepted() - before).toBeLessThanOrEqual(1)
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    expect(engine.servers?.()).toMatchObject([{ activeRequests: 0, outstandingTokens: 0 }])
  })

  test('a server that never ends its reply behind [DONE] delays nobody and keeps no connection', async () => {
    const server = await upstream((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chatChunk({ delta: { content: 'ok' }, finish_reason: 'stop' }) + doneLine)
    })
    const engine = engineOver([server])
    expect((await answer(engine, ask('hi'))).choices[0]?.text).toBe('ok')
    await until(() => server.hangUps() === 1, 3000)
  })

  test('what is asked beside does not wait behind answers', async () => {
    const server = await upstream((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chatChunk({ delta: { content: 'o' } }))
    })
    const client = new UpstreamClient({ connections: 1 })
    open.push(client)
    const endpoint = { id: 'a', url: server.url, weight: 1 }
    const stream = readStream(await client.stream(endpoint, { method: 'POST', path: '/chat/completions', body: {} }, never))
    await stream.next()
    await expect(client.ask(endpoint, { method: 'GET', path: '/models' }, never)).resolves.toMatchObject({ object: 'list' })
    await stream.return()
    await until(() => server.hangUps() === 1)
  })

  test('closing while it is asked what it is ends at once, and says so', async () => {
    const silent = await upstream(fine)
    silent.get = () => true
    const engine = engineOver([silent])
    const waiting = failure(engine)
    await until(() => silent.connections() === 1)
    await engine.close()
    expect(await waiting).toMatchObject({ code: 'model-unavailable' })
    expect(engine.state).toEqual({ type: 'stopped' })
    await until(() => silent.connections() === 0)
  })

  test('what was prepared before the engine was closed does not run after it', async () => {
    const server = await upstream(fine)
    const engine = engineOver([server])
    const prepared = await engine.prepare(ask('hi'), never)
    await engine.close()
    const run = async () => {
      for await (const event of prepared.run(never)) expect.unreachable(event.type)
    }
    await expect(run()).rejects.toMatchObject({ code: 'model-unavailable' })
    expect(server.seen).toHaveLength(0)
  })

  test('an engine whose server comes back by itself is ready', async () => {
    const server = await upstream(fine)
    server.get = (_, response) => {
      response.writeHead(503)
      response.end()
      return true
    }
    const engine = engineOver([server])
    expect(await failure(engine)).toMatchObject({ code: 'model-unavailable' })
    expect(engine.state.type).toBe('failed')
    server.get = () => false
    await until(() => engine.state.type === 'ready')
    expect((await answer(engine, ask('hi'))).choices[0]?.text).toBe('ok')
  }, 20_000)
})
