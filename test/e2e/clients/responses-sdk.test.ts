import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { zodTextFormat } from 'openai/helpers/zod'
import { ResponsesWS } from 'openai/resources/responses/ws'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'

let folder: string
let upstream: RunningApp
let app: RunningApp
let client: OpenAI
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-responses-'))
  const scripted = { id: 'scripted', engine: 'fake', script: 'from-request', toolFormat: 'hermes' } as const
  upstream = await startApp({ models: [scripted] })
  app = await startApp({
    storage: join(folder, 'store.db'),
    models: [scripted, { id: 'remote', engine: 'remote', endpoints: [{ url: `${upstream.url}/v1` }], upstreamModel: 'scripted' }],
  })
  client = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'unused', maxRetries: 0 })
})
afterAll(async () => {
  await app.close()
  await upstream.close()
  await rm(folder, { recursive: true, force: true })
})

const slow = JSON.stringify({ chunks: ['one ', 'two ', 'three'], delayMs: 100 })
const call = '<tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>'
const weather = {
  type: 'function' as const,
  name: 'weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  strict: false,
}

describe.each(['scripted', 'remote'])('the openai SDK, with the model %s', (model) => {
  test('creates, retrieves and deletes a response', async () => {
    const response = await client.responses.create({ model, input: 'one two' })
    expect([response.status, response.output_text]).toEqual(['completed', 'one two'])
    expect((await client.responses.retrieve(response.id)).output).toEqual(response.output)
    await client.responses.delete(response.id)
    await expect(client.responses.retrieve(response.id)).rejects.toThrow(OpenAI.NotFoundError)
  })

  test('follows a stream with its helper, and continues it at once', async () => {
    const stream = client.responses.stream({ model, input: 'one two' })
    let deltas = ''
    stream.on('response.output_text.delta', ({ delta }) => {
      deltas += delta
    })
    const first = await stream.finalResponse()
    expect([deltas, first.output_text]).toEqual(['one two', 'one two'])
    const next = await client.responses.create({ model, input: 'three', previous_response_id: first.id })
    expect(next.usage?.input_tokens).toBeGreaterThan(first.usage?.input_tokens ?? 0)
    const items = await client.responses.inputItems.list(next.id, { order: 'asc' })
    expect(items.data.map((item) => 'role' in item && item.role)).toEqual(['user', 'assistant', 'user'])
  })

  test('parses structured output', async () => {
    const format = zodTextFormat(z.object({ a: z.number() }), 'answer')
    const { output_parsed } = await client.responses.parse({
      model,
      input: JSON.stringify({ raw: '{"a": 3}' }),
      text: { format },
    })
    expect(output_parsed).toEqual({ a: 3 })
  })

  test('calls a function and sends its result', async () => {
    const first = await client.responses.create({ model, input: JSON.stringify({ raw: call }), tools: [weather] })
    const [item] = first.output
    if (item?.type !== 'function_call') throw new Error(`no call, but ${item?.type}`)
    expect([item.name, JSON.parse(item.arguments)]).toEqual(['weather', { city: 'Oslo' }])
    const output = [{ type: 'function_call_output' as const, call_id: item.call_id, output: 'snow' }]
    const next = await client.responses.create({ model, input: output, previous_response_id: first.id, tools: [weather] })
    expect(next.status).toBe('completed')
  })

  test('runs in the background, resumes its stream, and cancels', async () => {
    const created = await client.responses.create({ model, input: slow, background: true, stream: true })
    let id = ''
    for await (const event of created) {
      if (event.type === 'response.created') id = event.response.id
      if (event.type === 'response.in_progress') break
    }
    let text = ''
    for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: 2 })) {
      if (event.type === 'response.output_text.delta') text += event.delta
    }
    expect(text).toBe('one two three')
    const late = await client.responses.create({ model, input: JSON.stringify({ raw: 'x', delayMs: 60_000 }), background: true })
    expect((await client.responses.cancel(late.id)).status).toBe('cancelled')
  })

  test('keeps a conversation', async () => {
    const { id } = await client.conversations.create({ metadata: { topic: 'test' } })
    await client.responses.create({ model, input: 'one', conversation: id })
    const { input_tokens } = await client.responses.inputTokens.count({ model: 'scripted', input: 'two', conversation: id })
    expect(input_tokens).toBeGreaterThan(1)
    const texts: string[] = []
    for await (const item of client.conversations.items.list(id, { order: 'asc', limit: 1 })) texts.push(item.type)
    expect(texts).toEqual(['message', 'message'])
    expect((await client.conversations.delete(id)).deleted).toBe(true)
  })

  test('compacts a conversation, and goes on', async () => {
    const input = [{ role: 'user' as const, content: 'Tell me about the sea.' }]
    const { output } = await client.responses.compact({ model, input })
    const next = await client.responses.create({ model, input: [...(output as []), { role: 'user', content: 'go on' }] })
    expect(next.output_text).toBe('go on')
  })

  test('holds several turns on a WebSocket', async () => {
    const socket = new ResponsesWS(client)
    const answers: string[] = []
    let text = ''
    socket.send({ type: 'response.create', model, input: 'one', store: false })
    for await (const { type, ...more } of socket) {
      if (type === 'error') throw new Error(JSON.stringify(more))
      if (type !== 'message' || !('message' in more)) continue
      const { message } = more
      if (message.type === 'response.output_text.delta') text += message.delta
      if (message.type !== 'response.completed') continue
      answers.push(text)
      text = ''
      if (answers.length === 2) break
      socket.send({ type: 'response.create', model, input: 'two', store: false, previous_response_id: message.response.id })
    }
    socket.close()
    expect(answers).toEqual(['one', 'two'])
  })
})

test('a client that leaves a whole reply stops its generation', async () => {
  const controller = new AbortController()
  const input = JSON.stringify({ raw: 'x', delayMs: 60_000 })
  const leaving = client.responses.create({ model: 'scripted', input }, { signal: controller.signal })
  await until(async () => (await app.metric('dragoman_slots_busy{model="scripted"}')) === 1)
  controller.abort()
  await expect(leaving).rejects.toThrow()
  await until(async () => (await app.metric('dragoman_slots_busy{model="scripted"}')) === 0)
})
