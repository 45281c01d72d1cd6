import type { LimitState } from '../../contract/quota.ts'

/** The limits of a key as OpenAI's headers `x-ratelimit-*`, with times as durations. */
export function encodeOpenaiLimits(states: readonly LimitState[]): Readonly<Record<string, string>> {
  const headers = states.flatMap(({ unit, limit, remaining, resetMs }) => [
    [`x-ratelimit-limit-${unit}`, String(limit)],
    [`x-ratelimit-remaining-${unit}`, String(remaining)],
    [`x-ratelimit-reset-${unit}`, formatDuration(resetMs)],
  ])
  return Object.fromEntries(headers)
}

/** A duration as Go writes it, such as `1m0s`, `12.5s` or `250ms`. */
export function formatDuration(durationMs: number): string {
  const ms = Math.ceil(durationMs)
  if (ms > 0 && ms < 1000) return `${ms}ms`
  const minutes = Math.floor(ms / 60_000)
  return `${minutes === 0 ? '' : `${minutes}m`}${(ms % 60_000) / 1000}s`
}
