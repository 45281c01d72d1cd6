import { describe, expect, test } from 'vitest'
import { openTestServer, type TestServerOptions } from '../../../test/support/http/test-server.ts'

const messages = [{ role: 'user', content: 'one two three' }]
const usage = { prompt_tokens: 3, completion_tokens: 3, total_tokens: 6 }
const counts = { cache_n: 0, prompt_n: 3, predicted_n: 3, prompt_ms: expect.any(Number), predicted_ms: expect.any(Number) }

async function ask(url: string, body: object, options: Partial<TestServerOptions> = {}) {
  const payload = { model: 'default', ...body }
  const { body: text, statusCode, headers } = await openTestServer(options).app.inject({ method: 'POST', url, payload })
  const frames = text.split('\n\n').flatMap((frame) => (frame.startsWith('data: {') ? [JSON.parse(frame.slice(6))] : []))
  return { statusCode, headers, frames, json: () => JSON.parse(text) }
}

describe.each([
  ['/v1/chat/completions', { messages }],
  ['/v1/completions', { prompt: 'one two three' }],
  ['/api/inference/chat/completions', { messages }],
])('the times of %s', (url, body) => {
  const asked = { ...body, max_tokens: 50 }

  test('are beside the usage of a whole reply, which OpenAI knows', async () => {
    const { json } = await ask(url, asked)
    expect(json()).toMatchObject({ usage, timings: counts })
    expect(Object.keys(json().usage).toSorted()).toEqual([
      'completion_tokens',
      'completion_tokens_details',
      'prompt_tokens',
      'prompt_tokens_details',
      'total_tokens',
    ])
  })

  test('are beside the usage of a stream, and nowhere else', async () => {
    const { frames } = await ask(url, { ...asked, stream: true, stream_options: { include_usage: true } })
    expect(frames.pop()).toMatchObject({ choices: [], usage, timings: counts })
    expect(frames.some((frame) => 'timings' in frame)).toBe(false)
    expect((await ask(url, { ...asked, stream: true })).frames.some((frame) => 'timings' in frame)).toBe(false)
  })

  test('are in each chunk where the request says so', async () => {
    const { frames, headers } = await ask(url, { ...asked, stream: true, timings_per_token: true })
    expect(headers['x-dragoman-ignored']).toBeUndefined()
    expect(frames.every(({ choices, timings }) => choices.length === 1 && timings.predicted_n >= 0)).toBe(true)
    expect(frames.at(-1)).toMatchObject({ choices: [{ finish_reason: 'stop' }], timings: counts })
  })

  test('are in usage, too, for clients of tabbyAPI and MLC-LLM, where the operator says so', async () => {
    const options = { usageTimes: ['tabby', 'mlc'] } as const
    const times = {
      prompt_time: expect.any(Number),
      completion_tokens_per_sec: expect.any(Number),
      total_time: expect.any(Number),
      extra: { prefill_tokens: 3, decode_tokens: 3, end_to_end_latency_s: expect.any(Number) },
    }
    expect((await ask(url, asked, options)).json().usage).toMatchObject({ ...usage, ...times })
    const { frames } = await ask(url, { ...asked, stream: true, stream_options: { include_usage: true } }, options)
    expect(frames.at(-1)?.usage).toMatchObject({ ...usage, ...times })
  })
})

test('the pieces of POST /completion have times where the request says so, and the last one has those of the engine', async () => {
  const { frames } = await ask('/completion', { prompt: 'one two three', stream: true, timings_per_token: true })
  expect(frames.map(({ timings }) => timings.predicted_n)).toEqual([1, 2, 3, 3])
  expect(frames.at(-1)).toMatchObject({ stop: true, timings: counts })
})
