import type { LimitState } from '../../contract/quota.ts'

/** The limit of tokens covers input and output together, so it is the limit of each. */
const groups: Readonly<Record<LimitState['unit'], readonly string[]>> = {
  requests: ['requests'],
  tokens: ['tokens', 'input-tokens', 'output-tokens'],
}

/** The limits of a key as Anthropic's headers `anthropic-ratelimit-*`, with times by RFC 3339, in whole seconds. */
export function encodeAnthropicLimits(states: readonly LimitState[], nowMs: number): Readonly<Record<string, string>> {
  const headers = states.flatMap(({ unit, limit, remaining, resetMs }) => {
    const reset = new Date(Math.ceil((nowMs + resetMs) / 1000) * 1000).toISOString().replace('.000', '')
    return groups[unit].flatMap((group) => [
      [`anthropic-ratelimit-${group}-limit`, String(limit)],
      [`anthropic-ratelimit-${group}-remaining`, String(remaining)],
      [`anthropic-ratelimit-${group}-reset`, reset],
    ])
  })
  return Object.fromEntries(headers)
}
