import OpenAI from 'openai'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type ScriptedModel, startScripted } from './testing.ts'

describe('a model from a script', () => {
  let model: ScriptedModel
  let client: OpenAI
  beforeEach(async () => {
    model = await startScripted([
      { result: '(\\d+) degrees', say: 'It has $1 degrees.' },
      { match: 'weather in (\\w+)', think: 'I look.', calls: [{ name: 'get_weather', arguments: { city: '$1' } }] },
      { match: 'Think', think: 'Six and one.', say: 'It is seven.' },
      { match: 'break', say: 'one two', failAfter: 1 },
      { match: 'long', say: 'cut', finish: 'length' },
    ])
    client = new OpenAI({ baseURL: model.openaiUrl, apiKey: 'unused', maxRetries: 0 })
  })
  afterEach(() => model.close())

  const ask = (...messages: OpenAI.ChatCompletionMessageParam[]) =>
    client.chat.completions.create({
      model: 'any-name',
      messages,
      tools: [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } }],
    })

  test('calls tools, and answers to their results', async () => {
    const question = { role: 'user', content: 'What is the weather in Oslo?' } as const
    const first = (await ask(question)).choices[0]
    const call = first?.message.tool_calls?.[0]
    if (call?.type !== 'function') throw new Error('no call')
    expect(first?.message).toMatchObject({ content: null, reasoning_content: 'I look.' })
    expect([first?.finish_reason, call.function.name, JSON.parse(call.function.arguments)]).toEqual([
      'tool_calls',
      'get_weather',
      { city: 'Oslo' },
    ])
    const result = { role: 'tool', tool_call_id: call.id, content: '7 degrees' } as const
    const second = await ask(question, first?.message as OpenAI.ChatCompletionMessageParam, result)
    expect(second.choices[0]?.message.content).toBe('It has 7 degrees.')
  })

  test('thinks apart from what it says, in each protocol', async () => {
    const messages = [{ role: 'user', content: 'Think about it.' }] as const
    const answer = await client.chat.completions.create({ model: 'm', messages: [...messages] })
    expect(answer.choices[0]?.message).toMatchObject({ content: 'It is seven.', reasoning_content: 'Six and one.' })
    const post = async (path: string, body: object) => {
      const headers = { 'content-type': 'application/json' }
      return (
        await fetch(`${model.url}${path}`, { method: 'POST', headers, body: JSON.stringify({ model: 'm', ...body }) })
      ).json()
    }
    const thinking = { type: 'enabled', budget_tokens: 1024 }
    expect(await post('/v1/messages', { messages, max_tokens: 2000, thinking })).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'Six and one.' },
        { type: 'text', text: 'It is seven.' },
      ],
    })
    expect(await post('/v1/responses', { input: 'Think about it.' })).toMatchObject({
      output: [{ type: 'reasoning', content: [{ text: 'Six and one.' }] }, { content: [{ text: 'It is seven.' }] }],
    })
    expect(await post('/api/chat', { messages, stream: false })).toMatchObject({
      message: { thinking: 'Six and one.', content: 'It is seven.' },
    })
  })

  test('keeps what it was asked', async () => {
    await ask({ role: 'user', content: 'Say something long.' })
    expect(model.requests).toMatchObject([{ model: 'any-name', prompt: { type: 'chat', tools: [{ name: 'get_weather' }] } }])
  })

  test('fails and is cut where the script says so', async () => {
    await expect(ask({ role: 'user', content: 'break' })).rejects.toMatchObject({ status: 500, code: 'engine_failed' })
    expect((await ask({ role: 'user', content: 'long' })).choices[0]?.finish_reason).toBe('length')
  })

  test('says which message no turn fits', async () => {
    await expect(ask({ role: 'user', content: 'Good morning.' })).rejects.toThrow('no entry')
  })
})

test('a script that is wrong is refused with the place', async () => {
  await expect(startScripted([{ match: '(', say: 'x' }])).rejects.toThrow('[0].match')
})
