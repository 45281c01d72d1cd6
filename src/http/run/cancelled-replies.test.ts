import { EventEmitter, once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { openTestServer, readAll, readUntil, receive, sendChat } from '../../../test/support/http/test-server.ts'
import type { Engine } from '../../contract/engine.ts'
import { createFakeEngine } from '../../engine/fake/engine.ts'

const messages = [{ role: 'user', content: 'hi' }]
const model = 'default'

/** An engine that says `Hello`, and then nothing until it is cancelled; what it computes takes as long. `begun` resolves with its start. */
function hangingEngine() {
  const fake = createFakeEngine({ script: 'from-request' })
  const work = new EventEmitter()
  const begun = once(work, 'begin')
  const hang = (signal: AbortSignal) =>
    new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
      work.emit('begin')
    })
  const engine: Engine = {
    ...fake,
    prepare: async () => ({
      inputTokens: 3,
      run: async (signal, emit) => {
        await emit({ type: 'prompt-read', inputTokens: 3, cachedInputTokens: 0 })
        await emit({ type: 'raw-text', choice: 0, text: 'Hello' })
        await hang(signal)
      },
    }),
    capabilities: {
      ...fake.capabilities,
      embedder: { embed: (_inputs, signal) => hang(signal) },
      ranker: { rank: (_request, signal) => hang(signal) },
    },
  }
  return { engine, begun }
}

/** The reply to a request that is cancelled when its engine is at work. */
async function cancelled(path: string, body: object) {
  const { engine, begun } = hangingEngine()
  const { listen, deps } = openTestServer({ engine })
  const port = await listen()
  const headers = { 'x-dragoman-cancel-id': 'run' }
  const request = sendChat(port, JSON.stringify(body), { path, headers })
  await begun
  // What a stream has sent by now, it has sent as usual.
  const response = 'stream' in body ? await receive(request) : undefined
  const before = response === undefined ? '' : await readUntil(response, 'Hello')
  const stop = sendChat(port, JSON.stringify({ cancel_id: 'run' }), { path: '/api/inference/cancel' })
  expect(JSON.parse(await readAll(await receive(stop)))).toEqual({ cancelled: 1 })
  const whole = response ?? (await receive(request))
  const text = before + (await readAll(whole))
  expect(deps.cancellations.size).toBe(0)
  return { status: whole.statusCode, text }
}

function framesOf(text: string): readonly unknown[] {
  return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json ?? ''))
}

const content = 'Hello'
const usage = { prompt_tokens: 3, completion_tokens: 1 }

describe('C38, C39: a cancelled reply', () => {
  test.each<[name: string, path: string, body: object, reply: object]>([
    [
      'of chat completions',
      '/v1/chat/completions',
      { model, messages },
      { choices: [{ message: { content }, finish_reason: 'length' }], usage },
    ],
    [
      'of completions',
      '/v1/completions',
      { model, prompt: 'hi' },
      { choices: [{ text: content, finish_reason: 'length' }], usage },
    ],
    [
      'of Responses',
      '/v1/responses',
      { model, input: 'hi' },
      {
        status: 'cancelled',
        incomplete_details: null,
        error: null,
        output: [{ status: 'incomplete', content: [{ text: content }] }],
      },
    ],
    [
      'of Messages',
      '/v1/messages',
      { model, messages, max_tokens: 9 },
      { content: [{ text: content }], stop_reason: 'max_tokens', usage: { input_tokens: 3, output_tokens: 1 } },
    ],
    [
      'of llama-stack',
      '/v1/inference/chat-completion',
      { model_id: model, messages },
      { completion_message: { content, stop_reason: 'out_of_tokens' } },
    ],
    [
      'of llama-stack’s completions',
      '/v1/inference/completion',
      { model_id: model, content: 'hi' },
      { content, stop_reason: 'out_of_tokens' },
    ],
  ])('%s has what was generated, and is not complete', async (_name, path, body, reply) => {
    const { status, text } = await cancelled(path, body)
    expect(status).toBe(200)
    expect(JSON.parse(text)).toMatchObject(reply)
  })

  test.each<[name: string, path: string, body: object, last: readonly object[]]>([
    [
      'of chat completions',
      '/v1/chat/completions',
      { model, messages, stream_options: { include_usage: true } },
      [{ choices: [{ delta: {}, finish_reason: 'length' }] }, { choices: [], usage }],
    ],
    ['of completions', '/v1/completions', { model, prompt: 'hi' }, [{ choices: [{ finish_reason: 'length' }] }]],
    [
      'of Responses',
      '/v1/responses',
      { model, input: 'hi' },
      [{ type: 'response.output_item.done' }, { type: 'response.incomplete', response: { status: 'cancelled' } }],
    ],
    [
      'of Messages',
      '/v1/messages',
      { model, messages, max_tokens: 9 },
      [
        { type: 'content_block_stop' },
        { type: 'message_delta', delta: { stop_reason: 'max_tokens' }, usage: { output_tokens: 1 } },
        { type: 'message_stop' },
      ],
    ],
    [
      'of llama-stack',
      '/v1/inference/chat-completion',
      { model_id: model, messages },
      [{ event: { event_type: 'complete', stop_reason: 'out_of_tokens' } }],
    ],
    [
      'of llama-stack’s completions',
      '/v1/inference/completion',
      { model_id: model, content: 'hi' },
      [{ stop_reason: 'out_of_tokens' }],
    ],
  ])('%s, streamed, ends as usual and without an error', async (_name, path, body, last) => {
    const { status, text } = await cancelled(path, { ...body, stream: true })
    expect(status).toBe(200)
    const frames = framesOf(text)
    expect(frames.slice(-last.length)).toMatchObject(last)
    expect(JSON.stringify(frames)).not.toMatch(/"error":\{|"type":"error"/)
    expect(text.includes('[DONE]')).toBe(/chat\/completions|v1\/completions/.test(path))
  })

  test.each<[name: string, path: string, body: object]>([
    ['embeddings', '/v1/embeddings', { model, input: 'hi' }],
    ['llama-stack’s embeddings', '/v1/inference/embeddings', { model_id: model, contents: ['hi'] }],
    ['a ranking', '/v1/rerank', { model, query: 'q', documents: ['a'] }],
  ])('for %s, which have no part of a reply, is an error with status 499', async (_name, path, body) => {
    const { status, text } = await cancelled(path, body)
    expect(status).toBe(499)
    expect(text).toContain('the request was cancelled')
  })
})
