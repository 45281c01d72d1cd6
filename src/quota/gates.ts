import type { KeyLimits, KeyQuota, Period } from '../contract/quota.ts'

/** The limits of one account in one period. */
export type Gate = Pick<KeyLimits, 'requestsPerMinute' | 'tokensPerMinute'> & {
  readonly account: string
  readonly period: Period
  /** The end of a day or a month. */
  readonly untilMs?: number
  /** The group whose limit it is; absent: the key's own. */
  readonly group?: string
}

/** The limits of a key: that of its minute, then all others. Days and months are in UTC, each with an account of its own. */
export function gatesOf({ account, group, ...own }: KeyQuota, nowMs: number): readonly [Gate, ...Gate[]] {
  const minute = minuteOf(account, own)
  const budgets = budgetsOf(account, own, nowMs)
  if (group === undefined) return [minute, ...budgets]
  const { name, ...limits } = group
  const shared = `group ${name}`
  const hasMinute = limits.requestsPerMinute !== undefined || limits.tokensPerMinute !== undefined
  const others = [...budgetsOf(shared, limits, nowMs), ...(hasMinute ? [minuteOf(shared, limits)] : [])]
  return [minute, ...budgets, ...others.map((gate) => ({ ...gate, group: name }))]
}

function minuteOf(account: string, { requestsPerMinute, tokensPerMinute }: KeyLimits): Gate {
  return {
    account,
    period: 'minute',
    ...(requestsPerMinute !== undefined && { requestsPerMinute }),
    ...(tokensPerMinute !== undefined && { tokensPerMinute }),
  }
}

function budgetsOf(account: string, { tokensPerDay, tokensPerMonth }: KeyLimits, nowMs: number): readonly Gate[] {
  const now = new Date(nowMs)
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()]
  const today = now.toISOString().slice(0, 'yyyy-mm-dd'.length)
  const budget = (period: Period, tokensPerMinute: number | undefined, { name, untilMs }: { name: string; untilMs: number }) =>
    tokensPerMinute === undefined ? [] : [{ account: `${account} ${name}`, period, tokensPerMinute, untilMs }]
  return [
    ...budget('day', tokensPerDay, { name: today, untilMs: Date.UTC(year, month, day + 1) }),
    ...budget('month', tokensPerMonth, { name: today.slice(0, 'yyyy-mm'.length), untilMs: Date.UTC(year, month + 1) }),
  ]
}
