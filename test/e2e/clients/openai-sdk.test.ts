import OpenAI, { BadRequestError, NotFoundError } from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { randomModel } from '../../support/llama/models.ts'

let app: RunningApp
let client: OpenAI
beforeAll(async () => {
  app = await startApp({
    storage: {},
    models: [
      { id: 'random', engine: 'llama', source: await randomModel(), contextLength: 2048, threads: 1, aliases: ['gpt-*'] },
      { id: 'scripted', engine: 'fake', script: 'from-request' },
    ],
  })
  client = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'unused', maxRetries: 0 })
})
afterAll(() => app.close())

const messages = [{ role: 'user' as const, content: 'Tell me about the sea.' }]

describe('the openai SDK', () => {
  test('a non-streaming reply', async () => {
    const reply = await client.chat.completions.create({ model: 'random', messages, max_tokens: 12, temperature: 0 })
    expect(reply).toMatchObject({ object: 'chat.completion', model: 'random', id: expect.stringMatching(/^chatcmpl-/) })
    expect(reply.choices).toHaveLength(1)
    expect(reply.choices[0]?.message.content?.length).toBeGreaterThan(0)
    expect(reply.usage).toMatchObject({ completion_tokens: 12, total_tokens: (reply.usage?.prompt_tokens ?? 0) + 12 })
  })

  test('a stream joins to the same text, and has usage only on request', async () => {
    const whole = await client.chat.completions.create({ model: 'random', messages, max_tokens: 20, temperature: 0 })
    const collect = async (includeUsage: boolean) => {
      const stream = await client.chat.completions.create({
        model: 'random',
        messages,
        max_tokens: 20,
        temperature: 0,
        stream: true,
        ...(includeUsage && { stream_options: { include_usage: true } }),
      })
      const chunks: OpenAI.ChatCompletionChunk[] = []
      for await (const chunk of stream) chunks.push(chunk)
      return chunks
    }
    const plain = await collect(false)
    expect(plain.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe(whole.choices[0]?.message.content)
    expect(plain.every((chunk) => chunk.usage === undefined)).toBe(true)
    expect(new Set(plain.map((chunk) => chunk.id)).size).toBe(1)
    expect(plain[0]?.choices[0]?.delta.role).toBe('assistant')

    const counted = await collect(true)
    expect(counted.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 20 } })
    expect(counted.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true)
  })

  test('decisions have probabilities that add up to 1', async () => {
    const { answers, model, usage } = await client.decisions.create({
      model: 'random',
      input: [{ role: 'user', content: [{ type: 'input_json', data: { paid: 2 } }] }],
      questions: [
        { type: 'predicate', name: 'money', instructions: 'Is it about money?' },
        { type: 'choice', instructions: 'Which team?', choices: [{ value: 'billing' }, { value: true }, { value: 'other' }] },
        { type: 'score', instructions: 'How angry?', levels: [{ label: 'calm' }, { label: 'angry' }] },
      ],
    })
    expect(model).toBe('random')
    expect(usage).toMatchObject({ output_tokens: 3, output_tokens_details: { reasoning_tokens: 0 } })
    expect(answers).toMatchObject([{ type: 'predicate', name: 'money' }, { type: 'choice', name: null }, { type: 'score' }])
    for (const answer of answers) {
      if (!('probabilities' in answer)) continue
      expect(answer.probabilities.reduce((sum, { probability }) => sum + probability, 0)).toBeCloseTo(1)
      expect(answer.confidence).toBeGreaterThan(1 / answer.probabilities.length - 0.001)
    }
  })

  test('the stream helper', async () => {
    const runner = client.chat.completions.stream({ model: 'random', messages, max_tokens: 8 })
    let deltas = ''
    runner.on('content', (delta) => {
      deltas += delta
    })
    const final = await runner.finalChatCompletion()
    expect(final.choices[0]?.message.content).toBe(deltas)
    expect(final.choices[0]?.finish_reason).toBe('length')
  })

  test('an alias answers with the name of the model that served', async () => {
    const reply = await client.chat.completions.create({ model: 'gpt-4o-mini', messages, max_tokens: 1 })
    expect(reply.model).toBe('random')
  })

  test('a stop sequence', async () => {
    const script = JSON.stringify({ chunks: ['one t', 'wo three'] })
    const reply = await client.chat.completions.create({
      model: 'scripted',
      messages: [{ role: 'user', content: script }],
      stop: ['two'],
    })
    expect(reply.choices[0]).toMatchObject({ message: { content: 'one ' }, finish_reason: 'stop' })
  })

  test('an unknown model is a NotFoundError with the code that OpenAI uses', async () => {
    const failing = client.chat.completions.create({ model: 'nonesuch', messages })
    await expect(failing).rejects.toBeInstanceOf(NotFoundError)
    await expect(failing).rejects.toMatchObject({ status: 404, code: 'model_not_found', param: 'model' })
  })

  test('a prompt that does not fit is refused with both numbers, also for a stream', async () => {
    const long = [{ role: 'user' as const, content: 'word '.repeat(5000) }]
    for (const stream of [false, true]) {
      const failing = client.chat.completions.create({ model: 'random', messages: long, stream })
      await expect(failing).rejects.toBeInstanceOf(BadRequestError)
      await expect(failing).rejects.toMatchObject({ code: 'context_length_exceeded', message: expect.stringContaining('2048') })
    }
  })

  test('a field that is not supported is refused by name', async () => {
    const failing = client.chat.completions.create({ model: 'random', messages, web_search_options: {} })
    await expect(failing).rejects.toMatchObject({ status: 400, code: 'unsupported_field', param: 'web_search_options' })
  })

  test('a stored completion keeps its choices and their log-probabilities, whole and streamed', async () => {
    const request = { model: 'random', messages, max_tokens: 5, temperature: 0, store: true, n: 2, logprobs: true }
    const metadata = { from: 'openai-sdk' }
    const whole = await client.chat.completions.create({ ...request, metadata })
    const streamed = await client.chat.completions.stream({ ...request, metadata, top_logprobs: 0 }).finalChatCompletion()
    const stored = []
    for await (const completion of client.chat.completions.list({ metadata, limit: 1 })) stored.push(completion)
    expect(stored.map(({ id }) => id)).toEqual([whole.id, streamed.id])
    expect(stored[0]?.choices).toEqual(whole.choices)
    expect(stored[1]?.choices).toMatchObject(
      streamed.choices.map(({ logprobs, message: { content } }) => ({ logprobs, message: { content } })),
    )
    expect(whole.choices.map(({ logprobs }) => logprobs?.content?.length)).toEqual([5, 5])
    for (const { id } of stored) expect(await client.chat.completions.delete(id)).toMatchObject({ deleted: true })
    expect((await client.chat.completions.list({ metadata })).data).toEqual([])
  })

  test('the engine breaking in mid-stream throws, after the content so far', async () => {
    const script = JSON.stringify({ chunks: ['a', 'b', 'c'], failAfter: 2 })
    const stream = await client.chat.completions.create({
      model: 'scripted',
      messages: [{ role: 'user', content: script }],
      stream: true,
    })
    let text = ''
    const read = async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    }
    await expect(read()).rejects.toThrow(/fail|broke/i)
    expect(text).toBe('ab')
  })

  test('breaking off a stream stops the generation', async () => {
    const stream = await client.chat.completions.create({ model: 'random', messages, stream: true, ignore_eos: true } as never)
    for await (const chunk of stream as unknown as AsyncIterable<OpenAI.ChatCompletionChunk>)
      if (chunk.choices[0]?.delta.content) break
    await expect.poll(() => app.metric('dragoman_slots_busy{model="random"}')).toBe(0)
  })

  test('models are listed, and found by id and by alias', async () => {
    const ids: string[] = []
    for await (const model of client.models.list()) ids.push(model.id)
    expect(ids).toEqual(['random', 'scripted'])
    expect(await client.models.retrieve('random')).toMatchObject({ id: 'random', object: 'model', context_length: 2048 })
    expect(await client.models.retrieve('gpt-5')).toMatchObject({ id: 'random' })
    await expect(client.models.retrieve('nonesuch')).rejects.toBeInstanceOf(NotFoundError)
  })
})
