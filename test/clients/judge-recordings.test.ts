import type { ServerResponse } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { listenOnLoopback } from '../support/upstream/loopback.ts'
import { judge } from './judge.ts'
import type { Recording } from './recording.ts'

const sent = (path: string, body: unknown): Recording => ({
  client: 'a client',
  version: '1.0.0',
  how: 'a call',
  method: 'POST',
  path,
  headers: { 'content-type': 'application/json' },
  body,
})
const chat = sent('/v1/chat/completions', { model: 'm', messages: [] })
const streamed = sent('/v1/chat/completions', { model: 'm', messages: [], stream: true })
const ollama = sent('/api/chat', { model: 'm', messages: [{ role: 'user', content: 'hi' }] })

const head = { id: 'a', object: 'chat.completion.chunk', created: 1, model: 'm' }
const chunk = JSON.stringify({ ...head, choices: [{ index: 0, delta: { content: 'a' }, finish_reason: null, logprobs: null }] })
const line = { model: 'm', created_at: '2026-01-01T00:00:00Z', message: { role: 'assistant', content: 'a' }, done: false }
const counts = { prompt_eval_count: 1, eval_count: 1, eval_duration: 1, total_duration: 1 }
const lastLine = { ...line, done: true, done_reason: 'stop', ...counts }

type Reply = { readonly status?: number; readonly type?: string; readonly text: string }
const json = (value: unknown, status = 200): Reply => ({ status, type: 'application/json', text: JSON.stringify(value) })
const events = (...data: readonly string[]): Reply => ({
  type: 'text/event-stream',
  text: data.map((one) => `data: ${one}\n\n`).join(''),
})
const lines = (...values: readonly unknown[]): Reply => ({
  type: 'application/x-ndjson',
  text: values.map((value) => `${JSON.stringify(value)}\n`).join(''),
})

async function faultsOf(recording: Recording, { status = 200, type = '', text }: Reply): Promise<readonly string[]> {
  const server = await listenOnLoopback((_, response: ServerResponse) => {
    response.writeHead(status, { 'content-type': type }).end(text)
  })
  onTestFinished(server.close)
  return (await judge(server.origin, recording)).faults
}

test.each([
  ['a default that is refused', chat, json({ error: { message: 'no' } }, 400), /^400: /],
  ['a field that the client reads and the reply lacks', chat, json({ id: 'a' }), /choices/],
  ['a stream where one value is read', chat, events(chunk, '[DONE]'), /is sse, and json is read/],
  ['one value where a stream is read', streamed, json({}), /is json, and sse is read/],
  ['a stream without its end', streamed, events(chunk), /does not end/],
  ['an error in a stream', streamed, events(chunk, '{"error":{"message":"broke"}}', '[DONE]'), /broke/],
  ['a stream of another framing', ollama, events(JSON.stringify(lastLine)), /is sse, and ndjson is read/],
  ['an end without counts', ollama, lines(line, { ...line, done: true, done_reason: 'stop' }), /eval_count/],
  ['what is refused on purpose, and is not', sent('/api/push', { model: 'm' }), lines({ status: 'success' }), /^200: /],
  ['a refusal in other words', sent('/api/push', { model: 'm' }), json({ error: 'no route' }, 404), /no route/],
  ['a route that is not known', sent('/v1/nothing', {}), json({}), /nothing is known/],
])('finds %s', async (_, recording, reply, fault) => {
  expect((await faultsOf(recording, reply)).join('\n')).toMatch(fault)
})

test.each([
  ['a stream of events', streamed, events(chunk, '[DONE]')],
  ['a stream of lines', ollama, lines(line, lastLine)],
  ['a refusal', sent('/api/push', { model: 'm' }), json({ error: 'Dragoman cannot push models' }, 501)],
])('finds nothing in %s that is as the client reads it', async (_, recording, reply) => {
  expect(await faultsOf(recording, reply)).toEqual([])
})
