import type { Usage } from './replies.ts'
import { type Cost, encodeUsageTimes, type UsageTimes } from './times/encode-timings.ts'

const noTimes: readonly UsageTimes[] = []

/** OpenAI's usage object. */
export function encodeUsage(cost: Cost, times = noTimes): Usage {
  const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = cost.usage
  const usage = {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedInputTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  }
  return times.length === 0 ? usage : { ...usage, ...encodeUsageTimes(cost, times) }
}
