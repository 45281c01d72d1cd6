import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningApp, startApp } from './support/http/app.ts'
import { fine } from './support/upstream/remote-engine.ts'
import { type ScriptedUpstream, startUpstream } from './support/upstream/upstream.ts'

let upstream: ScriptedUpstream
let app: RunningApp

beforeAll(async () => {
  upstream = await startUpstream(({ path }, response) => {
    if (path === '/v1/chat/completions') return fine({ path, method: 'POST', body: {} }, response)
    response.writeHead(200, { 'content-type': 'application/json' })
    const results = [{ index: 0, relevance_score: 1 }]
    response.end(JSON.stringify({ data: [{ index: 0, embedding: [1, 2] }], results, usage: { prompt_tokens: 1 } }))
  })
  const model = { engine: 'remote' as const, probe: false, server: 'vllm' as const, upstreamModel: 'up' }
  app = await startApp({
    builtinModel: false,
    server: { apiKeys: [{ name: 'team-a', key: 'a-key-of-a-team' }] },
    models: [
      { ...model, id: 'server', endpoints: [{ url: upstream.url }], services: ['speech'] },
      { ...model, id: 'router', endpoints: [{ url: upstream.url, kind: 'router' }], objectives: { background: 'batch' } },
    ],
  })
})

afterAll(async () => {
  await app.close()
  await upstream.close()
})

const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'vendor=1' }
/** What a caller could pretend, or would not want to be known. */
const callers = {
  'x-request-id': 'of-the-caller',
  'x-session-id': 'secret-session',
  'x-smg-routing-key': 'spoofed',
  'x-llm-d-inference-fairness-id': 'spoofed',
  'x-gateway-inference-fairness-id': 'spoofed',
  'x-llm-d-inference-objective': 'spoofed',
  'x-gateway-inference-objective': 'spoofed',
}

async function headersOf(path: string, body: object) {
  upstream.seen.length = 0
  const response = await fetch(`${app.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer a-key-of-a-team', ...trace, ...callers },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  expect(response.status, text).toBe(200)
  const sent = upstream.seen.at(-1)?.headers ?? {}
  return { text, sent, own: Object.fromEntries(Object.entries(sent).filter(([name]) => name.startsWith('x-'))) }
}

const messages = [{ role: 'user', content: 'hi' }]

test.each<[string, object]>([
  ['/v1/chat/completions', { model: 'server', messages }],
  ['/v1/messages', { model: 'server', max_tokens: 9, messages }],
  ['/v1/embeddings', { model: 'server', input: 'hi' }],
  ['/v1/rerank', { model: 'server', query: 'a', documents: ['b'] }],
  ['/v1/audio/speech', { model: 'server', input: 'hi', voice: 'x' }],
])("a server hears of a request to %s its id and the caller's trace, and nothing else of the caller", async (path, body) => {
  const { sent, own } = await headersOf(path, body)
  expect(sent).toMatchObject(trace)
  expect(own).toEqual({ 'x-request-id': expect.stringMatching(/^[\w-]{10,}$/) })
})

test('a router hears of a request whose it is and how urgent, never in the words of the caller', async () => {
  const { text, sent, own } = await headersOf('/v1/chat/completions', { model: 'router', messages, service_tier: 'flex' })
  expect(sent).toMatchObject(trace)
  const session = expect.stringMatching(/^[\w-]{22}$/)
  expect(own).toEqual({
    'x-request-id': JSON.parse(text).id,
    'x-session-id': session,
    'x-smg-routing-key': session,
    'x-llm-d-inference-fairness-id': 'team-a',
    'x-gateway-inference-fairness-id': 'team-a',
    'x-llm-d-inference-objective': 'batch',
    'x-gateway-inference-objective': 'batch',
  })
})

test('the choices of a request have ids of their own', async () => {
  // vLLM refuses equal choices at temperature 0: each is a request.
  await headersOf('/v1/chat/completions', { model: 'server', messages, n: 3, temperature: 0 })
  const ids = upstream.seen.map(({ headers }) => String(headers['x-request-id']))
  expect(new Set(ids).size).toBe(3)
  expect(ids.every((id) => id.startsWith('chatcmpl-'))).toBe(true)
})
