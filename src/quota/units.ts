import type { Usage } from '../contract/quota.ts'

/** What limits count. */
export type Units = Pick<Usage, 'requests' | 'tokens'>

export const none: Units = { requests: 0, tokens: 0 }

export function plus(one: Units, other: Units): Units {
  return { requests: one.requests + other.requests, tokens: one.tokens + other.tokens }
}

export function minus(one: Units, other: Units): Units {
  return { requests: one.requests - other.requests, tokens: one.tokens - other.tokens }
}

/** The larger of each. */
export function most(one: Units, other: Units): Units {
  return { requests: Math.max(one.requests, other.requests), tokens: Math.max(one.tokens, other.tokens) }
}

/** The smaller of each. */
export function least(one: Units, other: Units): Units {
  return { requests: Math.min(one.requests, other.requests), tokens: Math.min(one.tokens, other.tokens) }
}

/** Whether all that is wanted is there; what is not wanted may lack. */
export function covers(there: Units, wanted: Units): boolean {
  const has = (unit: keyof Units) => wanted[unit] <= 0 || wanted[unit] <= there[unit]
  return has('requests') && has('tokens')
}

export function isNone({ requests, tokens }: Units): boolean {
  return requests === 0 && tokens === 0
}
