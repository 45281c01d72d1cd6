import type { Upstream } from '../../servers/upstream.ts'

/** The output limit if neither the request nor the server has one. */
const usualLimit = 8192

/**
 * The output limit to send for a request without one: the most that the server reports, or else 8192 tokens, at most a quarter of a known
 * context, which leaves room for the prompt.
 */
export function safeLimit({ outputLength, contextLength }: Pick<Upstream, 'outputLength' | 'contextLength'>): number {
  if (outputLength !== undefined) return outputLength
  return contextLength === undefined ? usualLimit : Math.max(1, Math.min(usualLimit, Math.floor(contextLength / 4)))
}

/** The output limit of a request without one, for servers whose own is too low to be useful. No field for all others. */
export function defaultLimit(upstream: Upstream): Readonly<Record<string, number>> {
  const { profile, contextLength } = upstream
  return profile.contextAsLimit === true ? { [profile.maxTokens]: contextLength ?? safeLimit(upstream) } : {}
}
