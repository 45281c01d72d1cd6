import { EventEmitter, once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { decodeNow } from '../../../test/support/decode-now.ts'
import {
  chatBody,
  openTestServer,
  openWatchedServer,
  readAll,
  readUntil,
  receive,
  sendChat,
  watchEngine,
} from '../../../test/support/http/test-server.ts'
import { soon } from '../../../test/support/process/stall-bound.ts'
import type { Dialect } from '../../contract/dialect.ts'
import type { Engine } from '../../contract/engine.ts'
import { createOpenaiChat } from '../../dialect/openai-chat/dialect.ts'
import { createFakeEngine } from '../../engine/fake/engine.ts'
import { createDialectHandler } from './serve-dialect.ts'

const openaiChat = createOpenaiChat({ reasoningFields: 'both', systemFingerprint: 'dragoman-1' })

const hourMs = 3_600_000
const fake = () => createFakeEngine({ script: 'from-request' })

function stream(script: unknown, more: Record<string, unknown> = {}): string {
  return chatBody(script, { stream: true, ...more })
}

function dataOf(text: string): unknown[] {
  return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json ?? ''))
}

describe('a non-streaming reply', () => {
  test('is the fold of the stream, with ignored fields and timings', async () => {
    const { port } = await openWatchedServer()
    const response = await receive(sendChat(port, chatBody('one two', { flavour: 1, 'ümlaut, too': 2 })))
    expect(response.statusCode).toBe(200)
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(response.headers['x-dragoman-ignored']).toBe('flavour, %C3%BCmlaut%2C%20too')
    expect(response.headers['server-timing']).toMatch(
      /^queue;dur=\d+, load;dur=\d+, prefill;dur=[\d.]+, ttft;dur=\d+, decode;dur=[\d.]+, total;dur=[\d.]+$/,
    )
    expect(JSON.parse(await readAll(response))).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-/),
      model: 'org/fake',
      choices: [{ message: { content: 'one two' }, finish_reason: 'stop' }],
    })
  })

  test('a failure has an HTTP status, also after generated text', async () => {
    const { port, logLines } = await openWatchedServer()
    const response = await receive(sendChat(port, chatBody({ raw: 'a b c', failAfter: 2 })))
    expect(response.statusCode).toBe(500)
    expect(JSON.parse(await readAll(response)).error.code).toBe('engine_failed')
    expect(logLines.some((line) => JSON.parse(line).level === 50)).toBe(true)
  })

  test('a client that disconnects stops the engine at once', async () => {
    const { port, watched, deps, scheduler } = await openWatchedServer()
    const request = sendChat(port, chatBody({ raw: 'late', delayMs: hourMs }))
    await watched.started()
    const ended = await soon(() => {
      request.destroy()
      return watched.ended()
    })
    expect(ended).toEqual({ aborted: true })
    expect(scheduler.load.busy).toBe(0)
    expect(await deps.metrics.render()).toContain('dragoman_cancellations_total{reason="client-gone"} 1')
  })
})

describe('a stream', () => {
  test('has stream headers, complete frames and an end', async () => {
    const { port } = await openWatchedServer()
    const response = await receive(sendChat(port, stream('one two', { flavour: 1 }), { headers: { 'x-request-id': 'mine' } }))
    expect(response.statusCode).toBe(200)
    expect(response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
      'x-dragoman-ignored': 'flavour',
      'x-request-id': 'mine',
    })
    const text = await readAll(response)
    expect(text).toMatch(/data: \[DONE\]\n\n$/)
    expect(dataOf(text).length).toBeGreaterThanOrEqual(4)
  })

  test('a connection serves one after the other', async () => {
    const { port } = await openWatchedServer()
    const socket = connect(port, '127.0.0.1').setEncoding('utf8')
    const body = stream('hi')
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    for (const count of [1, 2]) {
      socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      )
      while (text.split('\r\n0\r\n\r\n').length <= count) await once(socket, 'data')
    }
    expect(text.match(/\[DONE\]/g)).toHaveLength(2)
    socket.destroy()
  })

  test('headers leave with the first event, not before', async () => {
    const gate = new EventEmitter()
    const released = once(gate, 'open')
    const inner = fake()
    const engine: Engine = {
      ...inner,
      prepare: async (request, signal) => {
        await released
        return inner.prepare(request, signal)
      },
    }
    const { port } = await openWatchedServer({ engine })
    const request = sendChat(port, stream('hi'))
    let hasHeaders = false
    request.once('response', () => {
      hasHeaders = true
    })
    // The reply to another request shows that the server had time to send.
    await readAll(await receive(sendChat(port, '', { method: 'GET', path: '/health' })))
    expect(hasHeaders).toBe(false)
    gate.emit('open')
    expect(await readAll(await receive(request))).toContain('[DONE]')
  })

  test('a failure before the first event has an HTTP status in the dialect’s envelope', async () => {
    const { port } = await openWatchedServer()
    const response = await receive(sendChat(port, stream({ raw: 'a', failAfter: 0 })))
    expect(response.statusCode).toBe(500)
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(JSON.parse(await readAll(response)).error.code).toBe('engine_failed')
  })

  test('a failure after the first event is one last error event', async () => {
    const { port, deps } = await openWatchedServer()
    const response = await receive(sendChat(port, stream({ chunks: ['a', 'b', 'c'], failAfter: 2 })))
    expect(response.statusCode).toBe(200)
    const text = await readAll(response)
    expect(dataOf(text).at(-1)).toMatchObject({ error: { code: 'engine_failed' } })
    expect(text.match(/"error"/g)).toHaveLength(1)
    expect(await deps.metrics.render()).toContain('outcome="engine-failed"} 1')
  })

  test('a full queue is refused before any header', async () => {
    const { port, watched } = await openWatchedServer({ slots: 1, maxQueued: 0 })
    const running = sendChat(port, stream({ raw: 'x', delayMs: hourMs }))
    await watched.started()
    const response = await receive(sendChat(port, stream('hi')))
    expect([response.statusCode, response.headers['retry-after']]).toEqual([429, '1'])
    running.destroy()
    expect(await watched.ended()).toEqual({ aborted: true })
  })
})

describe('a constrained output', () => {
  const constrained = (structured: 'full' | 'partial' | 'validated'): Engine => {
    const inner = fake()
    return { ...inner, prepare: async (request, signal) => ({ ...(await inner.prepare(request, signal)), structured }) }
  }

  test.each([true, false])('reports its enforcement in a header (stream: %j)', async (isStream) => {
    for (const structured of ['full', 'partial', 'validated'] as const) {
      const { port } = await openWatchedServer({ engine: constrained(structured) })
      const response = await receive(sendChat(port, chatBody('hi', { stream: isStream })))
      expect(response.headers['x-dragoman-structured']).toBe(structured)
      await readAll(response)
    }
  })

  test('reports it also when a heartbeat opened the stream', async () => {
    const { port } = await openWatchedServer({ engine: constrained('partial'), heartbeatMs: () => 10 })
    const response = await receive(sendChat(port, stream({ chunks: ['a'], delayMs: 100 })))
    expect(response.headers['x-dragoman-structured']).toBe('partial')
    expect(await readAll(response)).toContain('[DONE]')
  })

  test('has no header without a constraint', async () => {
    const { port } = await openWatchedServer()
    const response = await receive(sendChat(port, chatBody('hi')))
    expect(response.headers).not.toHaveProperty('x-dragoman-structured')
    await readAll(response)
  })
})

describe('a silent stream', () => {
  test('opens with a heartbeat and sends more', async () => {
    const { port } = await openWatchedServer({ heartbeatMs: () => 10 })
    const response = await receive(sendChat(port, stream({ chunks: ['a'], delayMs: 200 })))
    expect(response.statusCode).toBe(200)
    const text = await readAll(response)
    expect(text.startsWith(openaiChat.heartbeat.repeat(2))).toBe(true)
    expect(text).toMatch(/"content":"a".*\[DONE\]/s)
  })

  test('comes at once where streaming is off, with the same events', async () => {
    const { port } = await openWatchedServer({ streaming: false, heartbeatMs: () => 10 })
    const response = await receive(sendChat(port, stream({ chunks: ['a', 'b'], delayMs: 40 })))
    const pieces: string[] = []
    for await (const piece of response) pieces.push(String(piece))
    expect(pieces).toEqual([expect.stringMatching(/^data: .*"content":"a".*"content":"b".*\[DONE\]\n\n$/s)])
    expect(response.headers['content-type']).toContain('text/event-stream')
  })

  test('has the status of its failure where streaming is off, however late that comes', async () => {
    const { port } = await openWatchedServer({ streaming: false })
    const response = await receive(sendChat(port, stream({ chunks: ['a', 'b'], failAfter: 1 })))
    expect(response.statusCode).toBe(500)
    expect(JSON.parse(await readAll(response)).error).toMatchObject({ code: 'engine_failed' })
  })

  test('has no heartbeat where they are off', async () => {
    const { port } = await openWatchedServer({ heartbeatMs: () => 0 })
    const text = await readAll(await receive(sendChat(port, stream({ chunks: ['a', 'b'], delayMs: 30 }))))
    expect(text).toMatch(/"content":"a".*"content":"b".*\[DONE\]/s)
    expect(text).not.toContain(openaiChat.heartbeat)
  })

  test('once it has begun, a failure is an error event, even before the first event', async () => {
    const { port } = await openWatchedServer({ heartbeatMs: () => 10 })
    const response = await receive(sendChat(port, stream({ raw: 'a', failAfter: 0, delayMs: 100 })))
    expect(response.statusCode).toBe(200)
    const text = await readAll(response)
    expect(dataOf(text)).toEqual([{ error: expect.objectContaining({ code: 'engine_failed' }) }])
    expect(text).toMatch(/\[DONE\]\n\n$/)
  })

  test('sends heartbeats while queued, and frees the queue entry on disconnect', async () => {
    const { port, watched, scheduler } = await openWatchedServer({ slots: 1, heartbeatMs: () => 10 })
    const running = sendChat(port, stream({ raw: 'x', delayMs: hourMs }))
    await watched.started()
    const waiting = sendChat(port, stream('hi'))
    await readUntil(await receive(waiting), openaiChat.heartbeat)
    expect(scheduler.load.queued).toBe(1)
    waiting.destroy()
    await expect.poll(() => scheduler.load.queued).toBe(0)
    running.destroy()
    expect(await watched.ended()).toEqual({ aborted: true })
  })

  test('an active stream gets no heartbeat', async () => {
    const { port } = await openWatchedServer({ heartbeatMs: () => 1000 })
    const text = await readAll(await receive(sendChat(port, stream({ chunks: Array(20).fill('a'), delayMs: 1 }))))
    expect(text).not.toContain(openaiChat.heartbeat)
  })
})

describe('a client that disconnects', () => {
  test('in the middle of a stream stops the engine, and frees the slot', async () => {
    const { port, watched, scheduler, logLines } = await openWatchedServer()
    const request = sendChat(port, stream({ chunks: ['a', 'b'] }, { ignore_eos: true, max_tokens: 1_000_000_000 }))
    await readUntil(await receive(request), '"content":"b"')
    request.destroy()
    expect(await watched.ended()).toEqual({ aborted: true })
    expect(scheduler.load.busy).toBe(0)
    expect(logLines.filter((line) => JSON.parse(line).level >= 40)).toEqual([])
  })

  test('while the prompt is read stops the engine at once', async () => {
    const { port, watched } = await openWatchedServer()
    const request = sendChat(port, stream({ raw: 'late', delayMs: hourMs }))
    await watched.started()
    request.destroy()
    expect(await watched.ended()).toEqual({ aborted: true })
  })

  test('is a 499 in the log and the metrics', async () => {
    const { port, watched, deps, logLines } = await openWatchedServer()
    const request = sendChat(port, stream({ raw: 'late', delayMs: hourMs }))
    await watched.started()
    request.destroy()
    await watched.ended()
    await readAll(await receive(sendChat(port, '', { method: 'GET', path: '/health' })))
    expect(logLines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ level: 30, route: '/v1/chat/completions', status: 499 }),
    )
    expect(await deps.metrics.render()).toContain('{route="/v1/chat/completions",status="499"} 1')
  })

  test('just before its request is handled leaves nothing registered', async () => {
    const { port, deps, scheduler } = await openWatchedServer()
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    const body = stream({ raw: 'late', delayMs: hourMs })
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
    socket.destroy()
    await readAll(await receive(sendChat(port, chatBody('hi'))))
    expect(scheduler.load.busy).toBe(0)
    expect(deps.cancellations.size).toBe(0)
  })
})

describe('an encoder with a fault', () => {
  const faulty = (on: string): Dialect => ({
    ...openaiChat,
    decode: ({ body }, { id }) => ({
      ...decodeNow(openaiChat, body, id),
      createStreamEncoder: () => ({
        encode: (event) => {
          if (on.split(' ').includes(event.type)) throw new TypeError('fault')
          return event.type === 'error' ? `error ${event.error.code}\n\n` : `${event.type}\n\n`
        },
      }),
    }),
  })

  async function serve(dialect: Dialect) {
    const watched = watchEngine(fake())
    const { app, deps, listen, scheduler, logLines } = openTestServer({ engine: watched.engine })
    app.post('/test', { config: { scope: 'inference' } }, createDialectHandler(deps, dialect))
    return { watched, scheduler, logLines, port: await listen() }
  }

  test('ends the stream with an error event, and the engine stops', async () => {
    const { port, watched, scheduler } = await serve(faulty('text-delta'))
    const body = stream('x', { ignore_eos: true, max_tokens: 1_000_000_000 })
    expect(await readAll(await receive(sendChat(port, body, { path: '/test' })))).toBe(
      'start\n\nprompt-read\n\ntext-start\n\nerror internal\n\n',
    )
    expect(await watched.ended()).toEqual({ aborted: false })
    expect(scheduler.load.busy).toBe(0)
  })

  test.each(['start', 'prompt-read'])('at %s, before anything is sent, has an HTTP status', async (event) => {
    const { port } = await serve(faulty(event))
    expect((await receive(sendChat(port, stream('x'), { path: '/test' }))).statusCode).toBe(500)
  })

  test('even in the error event ends the stream', async () => {
    const { port, logLines } = await serve(faulty('text-end error'))
    const text = await readAll(await receive(sendChat(port, stream('x'), { path: '/test' })))
    expect(text).toMatch(/text-delta\n\n$/)
    expect(logLines.filter((line) => JSON.parse(line).level === 50)).toHaveLength(2)
  })
})
