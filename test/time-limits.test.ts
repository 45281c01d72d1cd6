import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type RunningApp, startApp, until } from './support/http/app.ts'
import { randomModel } from './support/llama/models.ts'
import { upstream as scriptedUpstream } from './support/upstream/remote-engine.ts'
import { type Answer, chatChunk, doneLine, openStream, streamOf, usageChunk } from './support/upstream/upstream.ts'

const hourMs = 3_600_000
const silent = JSON.stringify({ raw: 'late', delayMs: hourMs })
const slow = JSON.stringify({ chunks: Array.from({ length: 1000 }, () => 'word '), delayMs: 40 })
const fake = { engine: 'fake', script: 'from-request' } as const

let app: RunningApp
let upstream: RunningApp

beforeAll(async () => {
  upstream = await startApp({ models: [{ ...fake, id: 'behind' }], builtinModel: false })
  const remote = { engine: 'remote' as const, endpoints: [{ url: `${upstream.url}/v1` }], upstreamModel: 'behind' }
  const source = await randomModel()
  app = await startApp({
    builtinModel: false,
    limits: { firstTokenMs: 60, stallMs: 'none', generationMs: 'none' },
    models: [
      { ...fake, id: 'first' },
      { ...remote, id: 'remote-first' },
      { ...fake, id: 'stall', limits: { firstTokenMs: 'none', stallMs: 20 } },
      { ...remote, id: 'remote-stall', limits: { firstTokenMs: 'none', stallMs: 20 } },
      { ...fake, id: 'wall', limits: { firstTokenMs: 'none', generationMs: 100 } },
      { ...remote, id: 'remote-wall', limits: { firstTokenMs: 'none', generationMs: 100 } },
      { engine: 'llama', id: 'llama-wall', source, contextLength: 2048, limits: { firstTokenMs: 'none', generationMs: 60 } },
      { ...fake, id: 'queue', slots: 1, limits: { queueMs: 60, firstTokenMs: 'none' } },
    ],
  })
})
afterAll(async () => {
  await app.close()
  await upstream.close()
})

function call(path: string, body: object) {
  return fetch(`${app.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

const user = (content: string) => [{ role: 'user', content }]

test.each([
  ['/v1/chat/completions', (model: string) => ({ model, messages: user(silent) }), { error: { code: 'first_token_timeout' } }],
  ['/v1/responses', (model: string) => ({ model, input: silent }), { error: { code: 'first_token_timeout' } }],
  ['/v1/messages', (model: string) => ({ model, messages: user(silent), max_tokens: 9 }), { error: { type: 'timeout_error' } }],
  ['/v1/inference/chat-completion', (model: string) => ({ model_id: model, messages: user(silent) }), { error: {} }],
])('C33: a model that does not begin to answer is 504 on %s, streamed or not, on every engine', async (path, body, error) => {
  for (const model of ['first', 'remote-first']) {
    for (const stream of [false, true]) {
      const reply = await call(path, { ...body(model), stream })
      expect(reply.status).toBe(504)
      const text = await reply.text()
      expect(JSON.parse(text)).toMatchObject(error)
      expect(text).toContain('60 ms, its limit (limits.firstTokenMs)')
    }
  }
  await until(async () => (await upstream.metric('dragoman_slots_busy{model="behind"}')) === 0)
})

test.each(['stall', 'remote-stall'])('C33: a model that stalls ends the stream with an error that says so: %s', async (model) => {
  const reply = await call('/v1/chat/completions', { model, messages: user(slow), stream: true })
  const text = await reply.text()
  expect(text).toContain('word')
  expect(text).toContain('"code":"stall_timeout"')
  expect(text).toContain('20 ms in the middle of its answer')
})

test('C33: a plain reply that stalls is continued by another server before the limit', async () => {
  const stalling: Answer = (_, response) => {
    openStream(response)
    response.write(chatChunk({ delta: { content: 'one ' } }))
  }
  const continuing = streamOf(chatChunk({ delta: { content: 'two' }, finish_reason: 'stop' }), usageChunk(4, 1), doneLine)
  const answers = [stalling]
  const answer: Answer = (...call) => (answers.shift() ?? continuing)(...call)
  const servers = await Promise.all([1, 2].map(() => scriptedUpstream(answer, { ownedBy: 'vllm' })))
  const endpoints = servers.map(({ url }) => ({ url }))
  const limits = { stallMs: 4000 }
  const gateway = await startApp({ builtinModel: false, models: [{ id: 'm', engine: 'remote', endpoints, limits }] })
  onTestFinished(() => gateway.close())
  const reply = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages: user('count') }),
  })
  expect(await reply.json()).toMatchObject({ choices: [{ message: { content: 'one two' } }] })
  expect(servers.map(({ seen }) => seen.length)).toEqual([1, 1])
})

test.each(['wall', 'remote-wall', 'llama-wall'])(
  'C31: an answer that takes too long ends with finish reason length: %s',
  async (model) => {
    const reply = await call('/v1/chat/completions', {
      model,
      messages: user(model === 'llama-wall' ? 'hi' : slow),
      ignore_eos: true,
      max_tokens: 1900,
    })
    expect(reply.status).toBe(200)
    const { choices, usage } = (await reply.json()) as {
      choices: [{ finish_reason: string; message: { content: string } }]
      usage: object
    }
    expect(choices[0].finish_reason).toBe('length')
    expect(choices[0].message.content.length).toBeGreaterThan(0)
    const { completion_tokens: count } = usage as { completion_tokens: number }
    expect(count).toBeGreaterThan(0)
    expect(count).toBeLessThan(1900)
    const stopped = app.logLines().find((line) => line.msg === 'request stopped' && 'model' in line && line.model === model)
    expect(stopped).toMatchObject({ reason: 'deadline', limit: expect.stringContaining('limits.generationMs') })
  },
)

test('a request that waits for too long is 503, and the one that runs goes on', async () => {
  const running = new AbortController()
  const holder = fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'queue', messages: user(silent) }),
    signal: running.signal,
  }).catch(() => undefined)
  await until(async () => (await app.metric('dragoman_slots_busy{model="queue"}')) === 1)
  const reply = await call('/v1/chat/completions', { model: 'queue', messages: user('hi') })
  expect(reply.status).toBe(503)
  expect(await reply.json()).toMatchObject({
    error: { code: 'queue_timeout', message: expect.stringContaining('limits.queueMs') },
  })
  expect(await app.metric('dragoman_slots_busy{model="queue"}')).toBe(1)
  running.abort()
  await holder
})
