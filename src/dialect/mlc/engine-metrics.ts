import type { RequestSnapshot } from '../../contract/server/activity.ts'
import { encodeMlcTimes } from '../openai/times/encode-timings.ts'

/** MLC-LLM's metrics of an engine, computed from its ended requests, the last one last: sums of tokens, and of seconds. */
export function encodeEngineMetrics(ended: readonly RequestSnapshot[]) {
  const costs = ended.flatMap(({ usage, timings }) => (usage === undefined || timings === undefined ? [] : [{ usage, timings }]))
  const sum = (read: (cost: (typeof costs)[number]) => number) => costs.reduce((total, cost) => total + read(cost), 0)
  const prefillSeconds = sum(({ timings }) => timings.prefillMs ?? 0) / 1000
  const decodeSeconds = sum(({ timings }) => timings.decodeMs ?? 0) / 1000
  const read = sum(({ usage }) => usage.inputTokens - usage.cachedInputTokens)
  const written = sum(({ usage }) => usage.outputTokens)
  const last = costs.at(-1)
  return {
    engine_prefill_time_sum: prefillSeconds,
    engine_decode_time_sum: decodeSeconds,
    engine_jump_forward_time_sum: 0,
    prompt_tokens_sum: sum(({ usage }) => usage.inputTokens),
    completion_tokens_sum: written,
    prefill_tokens_sum: read,
    decode_tokens_sum: written,
    jump_forward_tokens_sum: 0,
    ...(prefillSeconds > 0 && { prefill_tokens_per_s: read / prefillSeconds }),
    ...(decodeSeconds > 0 && { decode_tokens_per_s: written / decodeSeconds }),
    ...(last !== undefined && { last_finished_request: encodeMlcTimes(last) }),
  }
}

/** The metrics as the only chunk of a stream, in place of a reply's usage. */
export function encodeMetricsChunk(head: { id: string; object: string; created: number; model: string }, metrics: object) {
  const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, extra: metrics }
  return { ...head, choices: [], usage }
}
