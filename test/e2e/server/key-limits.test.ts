import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'

const messages = [{ role: 'user' as const, content: 'hello' }]
let app: RunningApp

beforeAll(async () => {
  const limited = (key: string) => ({ key, name: key, requestsPerMinute: 2, tokensPerMinute: 5000 })
  app = await startApp({
    builtinModel: false,
    models: [{ engine: 'fake', id: 'm', script: 'from-request' }],
    server: { apiKeys: [limited('a'), limited('b'), limited('c')] },
  })
})
afterAll(() => app.close())

const openai = (apiKey: string) => new OpenAI({ baseURL: `${app.url}/v1`, apiKey, maxRetries: 0 })

test('the OpenAI SDK reads what is left, and gets its RateLimitError', async () => {
  const client = openai('a')
  const { response } = await client.chat.completions.create({ model: 'm', messages, max_tokens: 9 }).withResponse()
  expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('1')
  const stream = await client.chat.completions.create({ model: 'm', messages, max_tokens: 9, stream: true }).withResponse()
  expect(stream.response.headers.get('x-ratelimit-remaining-requests')).toBe('0')
  for await (const chunk of stream.data) expect(chunk.object).toBe('chat.completion.chunk')

  for (const refused of [
    () => client.chat.completions.create({ model: 'm', messages, stream: true }),
    () => client.responses.create({ model: 'm', input: 'hello' }),
  ]) {
    const error = await Promise.resolve(refused()).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    if (!(error instanceof OpenAI.RateLimitError)) throw new Error('not a RateLimitError', { cause: error })
    expect(error).toMatchObject({ status: 429, code: 'rate_limit_exceeded', type: 'rate_limit_error' })
    expect(error.headers.get('x-ratelimit-limit-requests')).toBe('2')
    expect(Number(error.headers.get('retry-after'))).toBeGreaterThan(0)
  }
  expect(await openai('b').chat.completions.create({ model: 'm', messages })).toMatchObject({ object: 'chat.completion' })
})

test('the Anthropic SDK reads what is left, and gets its RateLimitError', async () => {
  const client = new Anthropic({ baseURL: app.url, apiKey: 'c', maxRetries: 0 })
  const { response } = await client.messages.create({ model: 'm', messages, max_tokens: 9 }).withResponse()
  expect(response.headers.get('anthropic-ratelimit-requests-remaining')).toBe('1')
  expect(await client.messages.stream({ model: 'm', messages, max_tokens: 9 }).finalText()).toBe('hello')

  const error = await client.messages.create({ model: 'm', messages, max_tokens: 9 }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof Anthropic.RateLimitError)) throw new Error('not a RateLimitError', { cause: error })
  expect(error.message).toContain('would exceed the rate limit of this API key of 2 requests per minute')
  const reset = error.headers.get('anthropic-ratelimit-requests-reset') ?? ''
  expect(Date.parse(reset)).toBeGreaterThan(Date.now())
})
