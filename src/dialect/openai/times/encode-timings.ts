import type { Timings, Usage } from '../../../contract/event.ts'

export type Cost = { readonly usage: Usage; readonly timings: Timings }

/** Whose times and rates `usage` has: those of tabbyAPI, or of MLC-LLM. */
export type UsageTimes = 'tabby' | 'mlc'

/** llama-server's `timings`; 0 where nothing was measured. */
export function encodeTimings({ usage, timings: { prefillMs = 0, decodeMs = 0 } }: Cost) {
  const { cachedInputTokens, outputTokens } = usage
  const read = usage.inputTokens - cachedInputTokens
  return {
    cache_n: cachedInputTokens,
    prompt_n: read,
    prompt_ms: short(prefillMs),
    prompt_per_token_ms: ratio(prefillMs, read),
    prompt_per_second: ratio(1000 * read, prefillMs),
    predicted_n: outputTokens,
    predicted_ms: short(decodeMs),
    predicted_per_token_ms: ratio(decodeMs, outputTokens),
    predicted_per_second: ratio(1000 * outputTokens, decodeMs),
  }
}

/** The fields of `usage` that others than OpenAI have: times in seconds, and tokens per second. */
export function encodeUsageTimes(cost: Cost, times: readonly UsageTimes[]) {
  return { ...(times.includes('tabby') && encodeTabby(cost)), ...(times.includes('mlc') && { extra: encodeMlcTimes(cost) }) }
}

function encodeTabby(cost: Cost) {
  const { prompt_ms, prompt_per_second, predicted_ms, predicted_per_second } = encodeTimings(cost)
  return {
    prompt_time: seconds(prompt_ms),
    prompt_tokens_per_sec: prompt_per_second,
    completion_time: seconds(predicted_ms),
    completion_tokens_per_sec: predicted_per_second,
    total_time: seconds(cost.timings.totalMs),
  }
}

/** MLC-LLM's `extra`. */
export function encodeMlcTimes(cost: Cost) {
  const { usage, timings } = cost
  const { prompt_n, prompt_per_second, predicted_per_token_ms, predicted_per_second } = encodeTimings(cost)
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    prefill_tokens: prompt_n,
    decode_tokens: usage.outputTokens,
    prefill_tokens_per_s: prompt_per_second,
    decode_tokens_per_s: predicted_per_second,
    inter_token_latency_s: seconds(predicted_per_token_ms),
    ttft_s: seconds(timings.firstTokenMs),
    end_to_end_latency_s: seconds(timings.totalMs),
  }
}

function seconds(ms = 0): number {
  return Math.round(ms * 1000) / 1_000_000
}

function ratio(value: number, by: number): number {
  return by > 0 ? short(value / by) : 0
}

/** Three digits or more: numbers with long fractions take a tenth of the time of a short reply to write. */
function short(value: number): number {
  return value >= 100 ? Math.round(value) : Math.round(value * 100) / 100
}
