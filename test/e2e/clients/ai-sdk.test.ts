import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateObject, generateText, jsonSchema, stepCountIs, streamObject, streamText, tool } from 'ai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { scriptedAnswers, scriptedTemplate } from '../../support/http/client-script.ts'

globalThis.AI_SDK_LOG_WARNINGS = false

let folder: string
let app: RunningApp
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-ai-sdk-'))
  const file = join(folder, 'script.json')
  await writeFile(file, JSON.stringify(scriptedAnswers))
  app = await startApp({
    storage: join(folder, 'store.db'),
    models: [
      { id: 'scripted', engine: 'fake', script: file, chatTemplate: scriptedTemplate },
      { id: 'tiny', engine: 'llama', source: 'builtin:dragoman-tiny.gguf' },
    ],
  })
})
afterAll(async () => {
  await app.close()
  await rm(folder, { recursive: true, force: true })
})

const at = () => ({ baseURL: `${app.url}/v1`, apiKey: 'unused' })
const providers = {
  '@ai-sdk/anthropic': (name: string) => createAnthropic(at())(name),
  '@ai-sdk/openai, chat': (name: string) => createOpenAI(at()).chat(name),
  '@ai-sdk/openai, Responses': (name: string) => createOpenAI(at()).responses(name),
  '@ai-sdk/openai-compatible': (name: string) =>
    createOpenAICompatible({ ...at(), name: 'dragoman', includeUsage: true, supportsStructuredOutputs: true })(name),
}

const cities: string[] = []
const weather = tool({
  description: 'The weather of a city.',
  inputSchema: jsonSchema<{ city: string }>({
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  }),
  execute: ({ city }) => {
    cities.push(city)
    return '21 degrees'
  },
})
const loop = { prompt: 'How is the weather in Oslo?', tools: { weather }, stopWhen: stepCountIs(3), maxRetries: 0 }
const place = jsonSchema<{ city: 'Oslo' | 'Rome'; sunny: boolean }>({
  type: 'object',
  properties: { city: { type: 'string', enum: ['Oslo', 'Rome'] }, sunny: { type: 'boolean' } },
  required: ['city', 'sunny'],
  additionalProperties: false,
})
const isPlace = { city: expect.stringMatching(/^(Oslo|Rome)$/), sunny: expect.any(Boolean) }

/** What a stream says, and its failures. */
async function readStream({ fullStream }: { readonly fullStream: AsyncIterable<{ readonly type: string }> }) {
  const said = { text: '', reasoning: '', errors: [] as unknown[] }
  for await (const part of fullStream as AsyncIterable<{ type: string; text?: string; error?: unknown }>) {
    if (part.type === 'text-delta') said.text += part.text
    if (part.type === 'reasoning-delta') said.reasoning += part.text
    if (part.type === 'error') said.errors.push(part.error)
  }
  return said
}

const thinking = {
  anthropic: { thinking: { type: 'enabled' as const, budgetTokens: 1024 } },
  openai: { reasoningSummary: 'auto', reasoningEffort: 'high', forceReasoning: true },
  dragoman: { reasoningEffort: 'high' },
}

describe.each(Object.entries(providers))('%s', (name, provider) => {
  test('generateText: a text, its end and its usage', async () => {
    const { text, finishReason, usage } = await generateText({ model: provider('scripted'), prompt: 'hi', maxRetries: 0 })
    expect([text, finishReason, usage.outputTokens]).toEqual(['Good morning.', 'stop', 2])
    expect(usage.inputTokens).toBeGreaterThan(0)
  })

  test('streamText: the same', async () => {
    const result = streamText({ model: provider('scripted'), prompt: 'hi', maxRetries: 0 })
    expect(await readStream(result)).toEqual({ text: 'Good morning.', reasoning: '', errors: [] })
    expect([await result.finishReason, (await result.usage).outputTokens]).toEqual(['stop', 2])
    expect((await result.usage).inputTokens).toBeGreaterThan(0)
  })

  test('generateText: a call, its result and the answer', async () => {
    cities.length = 0
    const result = await generateText({ model: provider('scripted'), ...loop })
    expect(result.steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop'])
    expect([cities, result.steps[0]?.text, result.text]).toEqual([['Oslo'], 'I look. ', 'It has 21 degrees.'])
  })

  test('streamText: a call, its result and the answer', async () => {
    cities.length = 0
    const result = streamText({ model: provider('scripted'), ...loop })
    expect(await readStream(result)).toMatchObject({ text: 'I look. It has 21 degrees.', errors: [] })
    expect([cities, (await result.steps).map(({ finishReason }) => finishReason)]).toEqual([['Oslo'], ['tool-calls', 'stop']])
  })

  test('generateText and streamText: a thought before the text', async () => {
    // OpenAI's chat protocol has no thoughts, and its provider does not read those of others.
    const reasoning = name === '@ai-sdk/openai, chat' ? '' : 'Two words.'
    const options = { model: provider('scripted'), prompt: 'think', providerOptions: thinking, maxRetries: 0 }
    const whole = await generateText(options)
    expect([whole.text, whole.reasoningText ?? '']).toEqual(['Good morning.', reasoning])
    expect(await readStream(streamText(options))).toEqual({ text: 'Good morning.', reasoning, errors: [] })
  })

  test('generateText and streamText: a thought before a call, which comes back with the result', async () => {
    const options = { model: provider('scripted'), ...loop, prompt: 'ponder', providerOptions: thinking }
    expect((await generateText(options)).text).toBe('It has 21 degrees.')
    expect(await readStream(streamText(options))).toMatchObject({ text: 'It has 21 degrees.', errors: [] })
  })

  test('generateObject and streamObject: what the schema says, from a model that cannot choose it', async () => {
    const options = { model: provider('tiny'), schema: place, prompt: 'A place, please.', maxRetries: 0 }
    expect((await generateObject(options)).object).toEqual(isPlace)
    const { object, partialObjectStream } = streamObject(options)
    for await (const _ of partialObjectStream);
    expect(await object).toEqual(isPlace)
  })

  test('generateText and streamText: a call that is required, of a real model', async () => {
    const options = {
      model: provider('tiny'),
      prompt: 'Call it.',
      tools: { weather },
      toolChoice: 'required' as const,
      maxRetries: 0,
    }
    const whole = await generateText(options)
    expect(whole.toolCalls).toMatchObject([{ toolName: 'weather', input: { city: expect.any(String) } }])
    const streamed = streamText(options)
    expect((await readStream(streamed)).errors).toEqual([])
    expect(await streamed.toolCalls).toMatchObject([{ toolName: 'weather', input: { city: expect.any(String) } }])
  })

  test('a failure in the middle of a stream, and one before it', async () => {
    const broken = await readStream(
      streamText({ model: provider('scripted'), prompt: 'breaks', onError: () => undefined, maxRetries: 0 }),
    )
    expect([broken.text, JSON.stringify(broken.errors)]).toEqual(['a b', expect.stringMatching(/failed|error/)])
    await expect(generateText({ model: provider('nonesuch'), prompt: 'hi', maxRetries: 0 })).rejects.toThrow(/nonesuch/)
  })
})

describe('thoughts of a real model', () => {
  // Its template thinks when it is asked to. OpenAI's chat protocol has no thoughts.
  const { '@ai-sdk/openai, chat': _, ...models } = providers

  test.each(Object.entries(models))('%s: whole and streamed', async (_, provider) => {
    const options = {
      model: provider('tiny'),
      prompt: 'hi',
      providerOptions: thinking,
      maxOutputTokens: 2048,
      maxRetries: 0,
    }
    expect((await generateText(options)).reasoningText).toMatch(/./)
    expect(await readStream(streamText(options))).toMatchObject({ reasoning: expect.stringMatching(/./), errors: [] })
  })
})
