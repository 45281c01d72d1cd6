import { EventEmitter, once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { openSocket } from '../../../test/support/http/responses-socket.ts'
import { openTestServer, readAll, receive, sendChat, type TestServerOptions } from '../../../test/support/http/test-server.ts'
import { soon } from '../../../test/support/process/stall-bound.ts'
import { openTestStore } from '../../../test/support/test-store.ts'
import type { Engine } from '../../contract/engine.ts'
import { createFakeEngine } from '../../engine/fake/engine.ts'

const model = 'default'
const messages = [{ role: 'user', content: 'hi' }]

type Stage = 'load' | 'prepare' | 'prefill' | 'decode'

/** An engine that hangs at one stage until it is cancelled there; `reached` resolves when it does. */
function hangAt(stage: Stage) {
  const fake = createFakeEngine({ script: 'from-request' })
  const work = new EventEmitter()
  const reached = once(work, 'reached')
  const hang = async (at: Stage, signal: AbortSignal): Promise<void> => {
    if (at !== stage) return
    const aborted = once(signal, 'abort')
    work.emit('reached')
    await aborted
    throw signal.reason
  }
  const engine: Engine = {
    ...fake,
    ensureReady: (signal) => hang('load', signal),
    prepare: async (_request, signal) => {
      await hang('prepare', signal)
      return {
        run: async (runSignal, emit) => {
          await hang('prefill', runSignal)
          await emit({ type: 'raw-text', choice: 0, text: 'Hello' })
          await hang('decode', runSignal)
        },
      }
    },
  }
  return { engine, reached }
}

/** A server whose engine hangs, with a way to cancel. */
async function serve(stage: Stage, options: Partial<TestServerOptions> = {}) {
  const { engine, reached } = hangAt(stage)
  const server = openTestServer({ engine, ...options })
  const port = await server.listen()
  const cancel = async (keys: object): Promise<unknown> => {
    const request = sendChat(port, JSON.stringify(keys), { path: '/api/inference/cancel' })
    return JSON.parse(await readAll(await receive(request)))
  }
  return { ...server, port, reached, cancel }
}

describe('a cancel reaches a request', () => {
  test.each<[Stage, string]>([
    ['load', ''],
    ['prepare', ''],
    ['prefill', ''],
    ['decode', 'Hello'],
  ])('C26: during its %s, and frees its slot', async (stage, content) => {
    const { port, reached, cancel, scheduler, deps } = await serve(stage)
    const request = sendChat(port, JSON.stringify({ model, messages, cancel_id: 'c' }))
    await reached
    const reply = await soon(async () => {
      expect(await cancel({ cancel_id: 'c' })).toEqual({ cancelled: 1 })
      return JSON.parse(await readAll(await receive(request)))
    })
    expect(reply.choices).toMatchObject([{ message: { content }, finish_reason: 'length' }])
    expect(scheduler.load).toMatchObject({ busy: 0, queued: 0 })
    expect(deps.cancellations.size).toBe(0)
  })

  test.each<[path: string, body: object]>([
    ['/v1/chat/completions', { model, messages }],
    ['/v1/completions', { model, prompt: 'hi' }],
    ['/v1/responses', { model, input: 'hi' }],
    ['/v1/messages', { model, messages, max_tokens: 5 }],
    ['/v1/inference/chat-completion', { model_id: model, messages }],
    ['/v1/inference/completion', { model_id: model, content: 'hi' }],
    ['/v1/inference/batch-completion', { model_id: model, content_batch: ['hi', 'ho'] }],
  ])('C10: by the fields in the body of %s', async (path, body) => {
    const { port, reached, cancel } = await serve('decode')
    const request = sendChat(port, JSON.stringify({ ...body, session_id: 's', cancel_id: 'c' }), { path })
    await reached
    expect(await cancel({ cancel_id: 'other', session_id: 's' })).toEqual({ cancelled: 0 })
    const response = await soon(async () => {
      expect(await cancel({ session_id: 's' })).toEqual({ cancelled: 1 })
      return receive(request)
    })
    expect(response.statusCode).toBe(200)
    expect(response.headers['x-dragoman-ignored']).toBeUndefined()
  })

  test('by the fields of a message over a WebSocket, whose next response is served', async () => {
    const { port, reached, cancel } = await serve('decode')
    const { turn } = await openSocket(port, { 'x-claude-code-session-id': 'agent' })
    const first = turn({ input: 'hi', cancel_id: 'c' })
    await reached
    const ended = await soon(async () => {
      expect(await cancel({ cancel_id: 'c' })).toEqual({ cancelled: 1 })
      return first
    })
    expect(ended).toMatchObject({ type: 'response.incomplete', response: { status: 'cancelled' } })
    await cancel({ cancel_id: 'd' })
    expect(await turn({ input: 'hi', cancel_id: 'd' })).toMatchObject({ response: { status: 'cancelled', output: [] } })
  })

  test('by the id of a background response, which keeps its output', async () => {
    const store = await openTestStore()
    const { app, reached, cancel } = await serve('decode', { store })
    const payload = { model, input: 'hi', background: true }
    const { id } = (await app.inject({ method: 'POST', url: '/v1/responses', payload })).json()
    await reached
    const cancelled = await soon(async () => {
      expect(await cancel({ response_id: id })).toEqual({ cancelled: 1 })
      return app.inject({ method: 'POST', url: `/v1/responses/${id}/cancel` })
    })
    expect(cancelled.json()).toMatchObject({ status: 'cancelled', output: [{ content: [{ text: 'Hello' }] }] })
  })

  test('before the conversation of a response is compacted', async () => {
    const { port, cancel } = await serve('decode')
    await cancel({ cancel_id: 'c' })
    const context_management = [{ type: 'compaction', compact_threshold: 1 }]
    const input = [...messages, { role: 'assistant', content: 'ho' }, ...messages]
    const body = JSON.stringify({ model, input, context_management, cancel_id: 'c' })
    const response = await receive(sendChat(port, body, { path: '/v1/responses' }))
    expect(JSON.parse(await readAll(response))).toMatchObject({ status: 'cancelled', output: [] })
  })
})
