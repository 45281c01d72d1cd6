import type { BudgetState } from '../../contract/quota.ts'
import type { UsageEntry } from '../../contract/store.ts'
import type { WireUsage } from './replies.ts'

type Report = {
  /** Days in UTC, both included. */
  readonly from: string
  readonly to: string
  readonly entries: readonly UsageEntry[]
  readonly budgets: readonly BudgetState[]
}

/** The reply of `GET /api/usage`. */
export function encodeUsage({ from, to, entries, budgets }: Report): WireUsage {
  return {
    from,
    to,
    usage: entries.map(({ day, caller, model, requests, inputTokens, cachedInputTokens, outputTokens }) => ({
      day,
      key: caller,
      model,
      requests,
      input_tokens: inputTokens,
      cached_input_tokens: cachedInputTokens,
      output_tokens: outputTokens,
    })),
    budgets: budgets.map(({ period, group, limit, used, resetsAtMs }) => ({
      period,
      ...(group !== undefined && { group }),
      limit,
      used,
      remaining: Math.max(0, limit - used),
      resets_at: new Date(resetsAtMs).toISOString(),
    })),
  }
}
