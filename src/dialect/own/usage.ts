import type { BudgetState } from '../../contract/quota.ts'
import type { UsageEntry, Use } from '../../contract/store.ts'
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
    usage: entries.map(({ day, caller, model, all, batch }) => ({
      day,
      key: caller,
      model,
      ...encodeUse(all),
      ...(batch.requests > 0 && { batch: encodeUse(batch) }),
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

function encodeUse({ requests, inputTokens, cachedInputTokens, outputTokens }: Use) {
  return { requests, input_tokens: inputTokens, cached_input_tokens: cachedInputTokens, output_tokens: outputTokens }
}
