import type { Usage } from '../../contract/event.ts'

/** OpenAI's usage object. */
export function encodeUsage({ inputTokens, cachedInputTokens, outputTokens, reasoningTokens }: Usage): unknown {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedInputTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  }
}
