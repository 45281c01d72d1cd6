import type { CacheTier, Usage } from '../contract/usage.ts'

/** The tokens of two generations, each of which reads its prompt. */
export function addUsage(one: Usage, other: Usage): Usage {
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    cachedInputTokens: one.cachedInputTokens + other.cachedInputTokens,
    ...addTiers(one.cachedIn, other.cachedIn),
    outputTokens: one.outputTokens + other.outputTokens,
    reasoningTokens: one.reasoningTokens + other.reasoningTokens,
  }
}

function addTiers(one: Usage['cachedIn'] = {}, other: Usage['cachedIn'] = {}): Pick<Usage, 'cachedIn'> {
  const tiers = [...new Set([...Object.keys(one), ...Object.keys(other)])] as CacheTier[]
  if (tiers.length === 0) return {}
  return { cachedIn: Object.fromEntries(tiers.map((tier) => [tier, (one[tier] ?? 0) + (other[tier] ?? 0)])) }
}
