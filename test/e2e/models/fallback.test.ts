import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'
import { openSocket } from '../../support/http/responses-socket.ts'
import {
  chatChunk,
  doneLine,
  type ScriptedUpstream,
  startUpstream,
  streamOf,
  usageChunk,
} from '../../support/upstream/upstream.ts'

const fake = (id: string, more: object = {}) => ({ engine: 'fake' as const, id, script: 'from-request', ...more })
const messages = [{ role: 'user' as const, content: 'hello' }]
const fine = streamOf(chatChunk({ delta: { content: 'from up' }, finish_reason: 'stop' }), usageChunk(3, 1), doneLine)
const served = 'x-dragoman-served-model'

let folder: string
let up: ScriptedUpstream
let app: RunningApp
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-fallback-'))
  up = await startUpstream(fine)
  const remote = (id: string, url: string, more: object) => ({
    engine: 'remote' as const,
    id,
    endpoints: [{ url }],
    server: 'openai' as const,
    load: 'demand' as const,
    ...more,
  })
  app = await startApp({
    builtinModel: false,
    storage: join(folder, 'store.db'),
    server: {
      apiKeys: [
        'all',
        { key: 'only-dead', models: ['dead'], name: 'only-dead' },
        { key: 'two-a-minute', name: 'two', requestsPerMinute: 2 },
      ],
      adminKey: 'admin',
    },
    models: [
      fake('local', { contextLength: 200 }),
      fake('last', { aliases: ['spare'] }),
      remote('dead', 'http://127.0.0.1:9/v1', { fallback: ['local'] }),
      remote('up', up.url, { fallback: ['spare'] }),
      remote('also-dead', 'http://127.0.0.1:9/v1', { fallback: ['dead'] }),
    ],
  })
})
afterAll(async () => {
  await app.close()
  await up.close()
  await rm(folder, { recursive: true })
})

const post = (path: string, body: object, key = 'all') =>
  fetch(`${app.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const jsonOf = async (reply: Response) =>
  (await reply.json()) as { readonly model: string; readonly error: { readonly code: string; readonly message: string } }
const openai = () => new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'all', maxRetries: 0 })

describe('a model whose server is not there is replaced by another', () => {
  test.each([
    ['/v1/chat/completions', { messages }],
    ['/v1/completions', { prompt: 'hello' }],
    ['/v1/responses', { input: 'hello', store: false }],
    ['/v1/messages', { messages, max_tokens: 20 }],
    ['/api/chat', { messages }],
    ['/api/generate', { prompt: 'hello' }],
    ['/completion', { prompt: 'hello' }],
  ])('%s, whole and streamed, and the reply says so', async (path, body) => {
    const whole = await post(path, { model: 'dead', stream: false, ...body })
    expect([whole.status, whole.headers.get(served), (await jsonOf(whole)).model]).toEqual([200, 'local', 'local'])
    const streamed = await post(path, { model: 'dead', stream: true, ...body })
    const text = await streamed.text()
    expect([streamed.status, streamed.headers.get(served)]).toEqual([200, 'local'])
    expect(text).toContain('hello')
    expect(text).toContain('"model":"local"')
    expect(text).not.toContain('"model":"dead"')
  })

  test('with the official SDKs', async () => {
    const stream = await openai().chat.completions.create({ model: 'dead', messages, stream: true })
    let text = ''
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    expect(text).toBe('hello')
    expect(await openai().responses.create({ model: 'dead', input: 'hello' })).toMatchObject({ output_text: 'hello' })
    const anthropic = new Anthropic({ baseURL: app.url, apiKey: 'all', maxRetries: 0 })
    const reply = await anthropic.messages.stream({ model: 'dead', messages, max_tokens: 20 }).finalMessage()
    expect(reply).toMatchObject({ model: 'local', content: [{ type: 'text', text: 'hello' }] })
  })

  test('in the log and the metrics, too', async () => {
    await post('/v1/chat/completions', { model: 'dead', messages })
    const lines = app.logLines()
    expect(lines.find(({ msg }) => msg === 'another model serves a request')).toMatchObject({
      level: 40,
      model: 'dead',
      servedBy: 'local',
      code: 'model-unavailable',
    })
    await until(() => app.logLines().some((line) => 'insteadOf' in line))
    expect(app.logLines().find((line) => 'insteadOf' in line)).toMatchObject({ model: 'local', insteadOf: 'dead', status: 200 })
    const metrics = await (await fetch(`${app.url}/metrics`, { headers: { authorization: 'Bearer admin' } })).text()
    expect(metrics).toMatch(/dragoman_fallbacks_total\{model="dead",served="local"\} \d/)
    expect(metrics).not.toContain('dragoman_generation_duration_seconds_count{model="dead",outcome="ok"}')
  })
})

describe('a response', () => {
  const input = { model: 'dead', input: 'hello' }

  test('in the background is served by another model, whole and streamed, and its record says so', async () => {
    const { id } = await openai().responses.create({ ...input, background: true })
    await until(async () => (await openai().responses.retrieve(id)).status === 'completed')
    expect(await openai().responses.retrieve(id)).toMatchObject({ model: 'local', output_text: 'hello' })
    const stream = await openai().responses.create({ ...input, background: true, stream: true })
    const models: string[] = []
    for await (const event of stream) if ('response' in event) models.push(event.response.model)
    expect(models.at(-1)).toBe('local')
  })

  test('on a socket is, too', async () => {
    const client = await openSocket(Number(new URL(app.url).port), { authorization: 'Bearer all' })
    expect(await client.turn(input)).toMatchObject({ type: 'response.completed', response: { model: 'local' } })
    expect(client.received.map(({ delta }) => delta ?? '').join('')).toBe('hello')
  })
})

describe('the failure of the model that was asked for is the answer', () => {
  test('where the key may not use the other', async () => {
    const reply = await post('/v1/chat/completions', { model: 'dead', messages }, 'only-dead')
    expect([reply.status, reply.headers.get(served)]).toEqual([503, null])
    expect((await jsonOf(reply)).error).toMatchObject({ code: 'model_unavailable' })
  })

  test('where the context of the other is too short', async () => {
    const long = [{ role: 'user', content: 'word '.repeat(2000) }]
    const reply = await post('/v1/chat/completions', { model: 'dead', messages: long })
    expect([reply.status, (await jsonOf(reply)).error.code]).toEqual([503, 'model_unavailable'])
  })

  test('where its own request is at fault', async () => {
    up.answer = (_, response) => void response.writeHead(400).end('{"error":{"message":"temperature is too hot"}}')
    const reply = await post('/v1/chat/completions', { model: 'up', messages })
    up.answer = fine
    expect([reply.status, (await jsonOf(reply)).error.message]).toEqual([400, expect.stringContaining('too hot')])
  })

  test('where the others of the other would be needed: only its own list is followed', async () => {
    expect((await post('/v1/chat/completions', { model: 'also-dead', messages })).status).toBe(503)
  })
})

test('a key with limits pays one request', async () => {
  const replies = [0, 1, 2].map(() => post('/v1/chat/completions', { model: 'dead', messages }, 'two-a-minute'))
  expect((await Promise.all(replies)).map(({ status }) => status).sort()).toEqual([200, 200, 429])
})

test('a server that fails is replaced until it is back', async () => {
  const ask = async () => {
    const reply = await post('/v1/chat/completions', { model: 'up', messages })
    return [reply.status, (await jsonOf(reply)).model]
  }
  expect(await ask()).toEqual([200, 'up'])
  up.answer = (_, response) => void response.writeHead(500).end('{"error":{"message":"broken"}}')
  up.get = (_, response) => response.writeHead(500).end() !== undefined
  for (let count = 0; count < 3; count++) expect(await ask()).toEqual([200, 'last'])
  up.answer = fine
  delete up.get
  await until(async () => (await ask())[1] === 'up')
})
