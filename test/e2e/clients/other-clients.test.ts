import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { ChatOpenAI } from '@langchain/openai'
import { generateText, streamText } from 'ai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { randomModel } from '../../support/llama/models.ts'

let app: RunningApp
beforeAll(async () => {
  app = await startApp({
    models: [
      { id: 'random', engine: 'llama', source: await randomModel(), contextLength: 2048, threads: 1 },
      { id: 'scripted', engine: 'fake', script: 'from-request' },
    ],
  })
})
afterAll(() => app.close())

describe('@ai-sdk/openai-compatible', () => {
  const provider = () => createOpenAICompatible({ name: 'dragoman', baseURL: `${app.url}/v1`, includeUsage: true })

  test('a non-streaming text, with usage and finish reason', async () => {
    const result = await generateText({ model: provider()('random'), prompt: 'Tell me about the sea.', maxOutputTokens: 10 })
    expect(result.text.length).toBeGreaterThan(0)
    expect(result.finishReason).toBe('length')
    expect(result.usage.outputTokens).toBe(10)
  })

  test('a streamed text', async () => {
    const result = streamText({ model: provider()('random'), prompt: 'Tell me about the sea.', maxOutputTokens: 10 })
    let text = ''
    for await (const delta of result.textStream) text += delta
    expect(text.length).toBeGreaterThan(0)
    expect((await result.usage).outputTokens).toBe(10)
    expect(await result.finishReason).toBe('length')
  })

  test('an error of the server arrives with its message', async () => {
    const failing = generateText({ model: provider()('nonesuch'), prompt: 'hi', maxRetries: 0 })
    await expect(failing).rejects.toThrow(/nonesuch/)
  })
})

describe('@langchain/openai', () => {
  const model = (name: string) =>
    new ChatOpenAI({ model: name, apiKey: 'unused', maxTokens: 10, maxRetries: 0, configuration: { baseURL: `${app.url}/v1` } })

  test('a non-streaming message, with usage', async () => {
    const message = await model('random').invoke('Tell me about the sea.')
    expect(message.text.length).toBeGreaterThan(0)
    expect(message).toMatchObject({ usage_metadata: { output_tokens: 10 } })
  })

  test('a streamed message', async () => {
    let text = ''
    for await (const chunk of await model('random').stream('Tell me about the sea.')) text += chunk.text
    expect(text.length).toBeGreaterThan(0)
  })

  test('a system message and a history', async () => {
    const message = await model('scripted').invoke([
      ['system', 'Be brief.'],
      ['human', 'first'],
      ['ai', 'reply'],
      ['human', 'just echo'],
    ])
    expect(message.text).toBe('just echo')
  })
})
