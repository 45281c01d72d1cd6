import Anthropic, { type APIError, BadRequestError, NotFoundError } from '@anthropic-ai/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { builtinModel } from '../../../src/registry/names/builtin-model.ts'
import { hasPods, type RunningApp, startApp } from '../../support/http/app.ts'

let app: RunningApp
let client: Anthropic
beforeAll(async () => {
  app = await startApp({
    models: [
      { id: 'tiny', engine: 'llama', source: builtinModel.path, threads: 1, defaults: { temperature: 0 } },
      { id: 'scripted', engine: 'fake', script: 'from-request' },
    ],
  })
  client = new Anthropic({ baseURL: app.url, apiKey: 'unused', maxRetries: 0 })
})
afterAll(() => app.close())

const weather: Anthropic.Tool = {
  name: 'get_weather',
  description: 'The weather of a city.',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const question: Anthropic.MessageParam[] = [{ role: 'user', content: 'What is the weather in Paris?' }]

describe('the Anthropic SDK', () => {
  test('a whole reply, and a stream of the same text', async () => {
    const request = { model: 'tiny', max_tokens: 30, messages: question } as const
    const whole = await client.messages.create({ ...request, messages: [...question] })
    expect(whole).toMatchObject({ type: 'message', role: 'assistant', model: 'tiny' })
    expect(whole.usage.input_tokens + (whole.usage.cache_read_input_tokens ?? 0)).toBeGreaterThan(0)
    const streamed = await client.messages.stream({ ...request, messages: [...question] }).finalMessage()
    expect(streamed.content).toEqual(whole.content)
    expect(streamed.stop_reason).toBe(whole.stop_reason)
  })

  test('a required call, its result, and an answer', async () => {
    const asked = await client.messages
      .stream({
        model: 'tiny',
        max_tokens: 100,

        messages: question,
        tools: [weather],
        tool_choice: { type: 'tool', name: 'get_weather' },
      })
      .finalMessage()
    expect(asked.stop_reason).toBe('tool_use')
    const call = asked.content.find((block) => block.type === 'tool_use')
    expect(call).toMatchObject({ name: 'get_weather', input: { city: expect.any(String) } })
    const answered = await client.messages.create({
      model: 'tiny',
      max_tokens: 40,
      messages: [
        ...question,
        { role: 'assistant', content: asked.content as Anthropic.ContentBlockParam[] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: call?.id ?? '', content: '21 degrees, sunny' }] },
      ],
      tools: [weather],
    })
    expect(answered.content.length).toBeGreaterThan(0)
  })

  test('thinking has a signature that is accepted in the next turn', async () => {
    const thinking = { type: 'enabled', budget_tokens: 1024 } as const
    const first = await client.messages.create({ model: 'tiny', max_tokens: 200, messages: question, thinking })
    const thought = first.content.find((block) => block.type === 'thinking')
    expect(thought?.signature).toMatch(/^dg1\./)
    const turns: Anthropic.MessageParam[] = [
      ...question,
      { role: 'assistant', content: first.content as Anthropic.ContentBlockParam[] },
      { role: 'user', content: 'And in Oslo?' },
    ]
    const request = { model: 'tiny', max_tokens: 20, thinking, messages: turns }
    const { response } = await client.messages.create(request).withResponse()
    expect(response.headers.get('x-dragoman-ignored')).toBeNull()
    const forged = turns.map((turn) =>
      Array.isArray(turn.content)
        ? { ...turn, content: turn.content.map((block) => (block.type === 'thinking' ? { ...block, thinking: 'Lies.' } : block)) }
        : turn,
    ) as Anthropic.MessageParam[]
    const second = await client.messages.create({ ...request, messages: forged }).withResponse()
    expect(second.response.headers.get('x-dragoman-ignored')).toContain('messages[1].content[0]')
  })

  test('counts are those of the message', async () => {
    const prompt = { model: 'tiny', messages: question, tools: [weather], system: 'Be brief.' }
    const { input_tokens } = await client.messages.countTokens(prompt)
    const { usage } = await client.messages.create({ ...prompt, max_tokens: 1 })
    expect(usage.input_tokens + (usage.cache_read_input_tokens ?? 0)).toBe(input_tokens)
  })

  // The embedded engine of another server has not read it.
  test.skipIf(hasPods)('a turn reads the one before from the cache, though an agent writes it in another form', async () => {
    const note = 'The user writes from Paris. '.repeat(20)
    const billing = (version: string) => ({ type: 'text', text: `x-anthropic-billing-header: cc_version=${version};` }) as const
    const block = (text: string) => ({ type: 'text', text, cache_control: { type: 'ephemeral' } }) as const
    const first = await client.messages.create({
      model: 'tiny',
      max_tokens: 10,
      system: [billing('1.a'), block('Be brief.')],
      messages: [
        { role: 'user', content: [block('What is the weather?')] },
        { role: 'system', content: [block(note)] },
      ],
    })
    const { data, response } = await client.messages
      .create({
        model: 'tiny',
        max_tokens: 10,
        system: [billing('1.b'), block('Be brief.')],
        messages: [
          { role: 'user', content: 'What is the weather?' },
          { role: 'system', content: note },
          { role: 'assistant', content: first.content },
          { role: 'user', content: [block('And in Oslo?')] },
        ],
      })
      .withResponse()
    const read = first.usage.input_tokens + (first.usage.cache_read_input_tokens ?? 0)
    expect(data.usage.cache_read_input_tokens).toBeGreaterThanOrEqual(read)
    expect(response.headers.get('x-dragoman-prefix')).toBeNull()
  })

  test('models', async () => {
    const list = await client.models.list()
    expect(list.data.map(({ id }) => id)).toContain('tiny')
    expect(await client.models.retrieve('tiny')).toMatchObject({ id: 'tiny', type: 'model' })
  })

  test('errors are those of the SDK', async () => {
    const bad = client.messages.create({ model: 'tiny', max_tokens: 0, messages: question })
    await expect(bad).rejects.toBeInstanceOf(BadRequestError)
    const unknown = client.messages.create({ model: 'nope', max_tokens: 1, messages: question })
    await expect(unknown).rejects.toBeInstanceOf(NotFoundError)
    await expect(unknown).rejects.toSatisfy((error: APIError) => typeof error.requestID === 'string')
  })

  test('a stream that is aborted stops the model', async () => {
    const stream = client.messages.stream({ model: 'tiny', max_tokens: 2000, messages: [{ role: 'user', content: 'Count.' }] })
    await new Promise<void>((resolve) => stream.on('streamEvent', () => resolve()))
    stream.abort()
    await expect(stream.finalMessage()).rejects.toThrow()
    await expect
      .poll(
        async () => (await (await fetch(`${app.url}/metrics`)).text()).match(/dragoman_slots_busy\{[^}]*tiny[^}]*\} (\d+)/)?.[1],
      )
      .toBe('0')
  })
})
