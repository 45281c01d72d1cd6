import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../support/app.ts'

let folder: string
let app: RunningApp
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-ai-sdk-'))
  app = await startApp({
    storage: join(folder, 'store.db'),
    models: [{ id: 'scripted', engine: 'fake', script: 'from-request', toolFormat: 'hermes' }],
  })
})
afterAll(async () => {
  await app.close()
  await rm(folder, { recursive: true, force: true })
})

const model = () => createOpenAI({ baseURL: `${app.url}/v1`, apiKey: 'unused' })('scripted')

describe('@ai-sdk/openai, which speaks Responses', () => {
  test('a whole text, with usage', async () => {
    const result = await generateText({ model: model(), prompt: 'one two' })
    expect([result.text, result.finishReason, result.usage.outputTokens]).toEqual(['one two', 'stop', 2])
  })

  test('a streamed text', async () => {
    const result = streamText({ model: model(), prompt: 'one two' })
    let text = ''
    for await (const delta of result.textStream) text += delta
    expect([text, await result.finishReason]).toEqual(['one two', 'stop'])
  })

  test('a call, and the step after its result', async () => {
    const raw = '<tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>'
    const cities: string[] = []
    const weather = tool({
      inputSchema: jsonSchema<{ city: string }>({ type: 'object', properties: { city: { type: 'string' } } }),
      execute: ({ city }) => {
        cities.push(city)
        return 'snow'
      },
    })
    const prompt = JSON.stringify({ raw })
    const result = await generateText({ model: model(), prompt, tools: { weather }, stopWhen: stepCountIs(2) })
    expect(result.steps).toHaveLength(2)
    expect(cities[0]).toBe('Oslo')
  })

  test('a failure in the middle of a stream', async () => {
    const errors: unknown[] = []
    const prompt = JSON.stringify({ raw: 'a b c', failAfter: 2 })
    const result = streamText({ model: model(), prompt, onError: ({ error }) => void errors.push(error), maxRetries: 0 })
    let text = ''
    for await (const delta of result.textStream) text += delta
    expect(text).toBe('a b')
    expect(JSON.stringify(errors)).toMatch(/failed|error/)
  })
})
