import { expect, test } from 'vitest'
import { encodeTimings, encodeUsageTimes } from './encode-timings.ts'

const usage = { inputTokens: 30, cachedInputTokens: 10, outputTokens: 8, reasoningTokens: 0 }
const cost = { usage, timings: { prefillMs: 40.125, decodeMs: 160, firstTokenMs: 50, totalMs: 210.5 } }

test('the times of llama-server are those of what was read and written, with their rates', () => {
  expect(encodeTimings(cost)).toEqual({
    cache_n: 10,
    prompt_n: 20,
    prompt_ms: 40.13,
    prompt_per_token_ms: 2.01,
    prompt_per_second: 498,
    predicted_n: 8,
    predicted_ms: 160,
    predicted_per_token_ms: 20,
    predicted_per_second: 50,
  })
})

test('what was not measured, or has no tokens, is 0 and never null', () => {
  const nothing = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 }
  for (const empty of [
    { usage: nothing, timings: { prefillMs: 1, decodeMs: 1 } },
    { usage, timings: {} },
  ]) {
    const values: readonly unknown[] = Object.values(JSON.parse(JSON.stringify(encodeTimings(empty))))
    expect(values.every((value) => typeof value === 'number')).toBe(true)
    expect(encodeTimings(empty)).toMatchObject({ prompt_per_second: 0, predicted_per_second: 0 })
  }
})

test('usage has the times of the servers that were chosen, in seconds', () => {
  const tabby = {
    prompt_time: 0.04013,
    prompt_tokens_per_sec: 498,
    completion_time: 0.16,
    completion_tokens_per_sec: 50,
    total_time: 0.2105,
  }
  const extra = {
    prompt_tokens: 30,
    completion_tokens: 8,
    prefill_tokens: 20,
    decode_tokens: 8,
    prefill_tokens_per_s: 498,
    decode_tokens_per_s: 50,
    inter_token_latency_s: 0.02,
    ttft_s: 0.05,
    end_to_end_latency_s: 0.2105,
  }
  expect(encodeUsageTimes(cost, [])).toEqual({})
  expect(encodeUsageTimes(cost, ['tabby'])).toEqual(tabby)
  expect(encodeUsageTimes(cost, ['mlc', 'tabby'])).toEqual({ ...tabby, extra })
})
