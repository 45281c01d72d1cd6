import { steadyMs } from '../base/steady-ms.ts'
import { AppError } from '../contract/errors.ts'
import type {
  BudgetState,
  ExceededLimit,
  KeyQuota,
  LimitState,
  Settlement,
  Share,
  Usage,
  UsageCounter,
} from '../contract/quota.ts'
import type { RequestCost } from '../contract/scheduler.ts'
import { type Gate, gatesOf } from './gates.ts'
import type { AccountLimits } from './ledger.ts'
import { inPeriod, MinuteCounter } from './minute-counter.ts'

/** The output that a request without a limit is expected to generate. */
const expectedOutputTokens = 4096

/** What was reserved of one limit. */
type Part = Pick<Share, 'requests' | 'tokens' | 'isStretched'> & Pick<Usage, 'minute'> & { readonly gate: Gate }

/** The reservation of a request: in its key's minute, and in its other limits. Settle it. */
export type Reservation = Part & { readonly others: readonly Part[] }

/** A counter whose latest counts are known without waiting. */
type KnowingCounter = Pick<UsageCounter, 'take'> & {
  /** What is used by all, and what this process must leave to others: with one process, it is exact. */
  known(account: string, limits: AccountLimits): Usage
  read(account: string, limits: AccountLimits): Promise<Usage>
  settle(account: string, settlement: Settlement): Promise<unknown>
}

/** The limits of keys. Before a request runs, its largest use is reserved; at its end, that is replaced by its actual use. */
export class Quotas {
  readonly #minutes: KnowingCounter
  readonly #budgets: KnowingCounter
  /**
   * The tokens of the last tickets of counted requests, by the signals of the requests. One request may enter several times, for example to
   * shorten a conversation before it answers, or on another model.
   */
  readonly counted = new WeakMap<AbortSignal, { tokens: number }>()

  /** `budgets` counts days and months, which outlive a process; absent: `minutes` counts them. */
  constructor(minutes: KnowingCounter = new MinuteCounter(), budgets = minutes) {
    this.#minutes = minutes
    this.#budgets = budgets
  }

  /** Rejects with `rate-limit-exceeded` or `budget-exceeded` when nothing is left for any request. */
  async check(quota: KeyQuota): Promise<void> {
    for (const gate of gatesOf(quota, Date.now())) {
      const counter = this.#counterOf(gate)
      const isMinute = gate.period === 'minute'
      if (findSpent(gate, inPeriod(counter.known(gate.account, gate), isMinute)) === undefined) continue
      const spent = findSpent(gate, inPeriod(await counter.read(gate.account, gate), isMinute))
      if (spent !== undefined) throw spent
    }
  }

  /**
   * Counts a request and reserves its tokens, or counts nothing and rejects with `rate-limit-exceeded` or `budget-exceeded`. `isCounted`:
   * the request only needs more tokens.
   */
  async admit(quota: KeyQuota, cost: RequestCost, { isCounted = false } = {}): Promise<Reservation> {
    const [own, ...others] = gatesOf(quota, Date.now())
    const parts: Part[] = []
    try {
      for (const gate of others) parts.push(await this.#reserve(gate, { cost, isCounted }))
      return { ...(await this.#reserve(own, { cost, isCounted })), others: parts }
    } catch (error) {
      await Promise.all(parts.map((part) => this.#settle(part, { tokens: 0, requests: 0 })))
      throw error
    }
  }

  async #reserve(gate: Gate, wanted: Wanted): Promise<Part> {
    const counter = this.#counterOf(gate)
    const isMinute = gate.period === 'minute'
    let usage = inPeriod(counter.known(gate.account, gate), isMinute)
    for (let isFresh = false; ; isFresh = true) {
      const share = plan(gate, usage, wanted)
      const isEnough = !(share instanceof AppError) && !share.isStretched
      if (isEnough || isFresh) {
        if (share instanceof AppError) throw share
        const taken = await counter.take(gate.account, share, gate)
        const { requests, tokens, isStretched } = share
        if (taken !== undefined) return { gate, requests, tokens, isStretched, minute: taken.minute }
      }
      // Other processes may have used or returned something. A lost race means that another request has won it.
      usage = inPeriod(await counter.read(gate.account, gate), isMinute)
    }
  }

  /** Counts a call of a server's tool; false: the key has none left in this minute, and nothing is counted. */
  async admitsToolCall({ account, toolCallsPerMinute }: KeyQuota): Promise<boolean> {
    if (toolCallsPerMinute === undefined) return true
    const share = { requests: 1, tokens: 0, isStretched: false }
    return (await this.#minutes.take(`${account} tools`, share, { requestsPerMinute: toolCallsPerMinute })) !== undefined
  }

  /** Replaces what was reserved by what was used. */
  async settle(_: KeyQuota, { others, ...own }: Reservation, usedTokens: number): Promise<void> {
    await Promise.all([own, ...others].map((part) => this.#settle(part, { tokens: usedTokens, requests: part.requests })))
  }

  async #settle(part: Part, used: Pick<Share, 'tokens' | 'requests'>): Promise<void> {
    const { gate, isStretched, minute } = part
    const [tokens, requests] = [used.tokens - part.tokens, used.requests - part.requests]
    if (tokens === 0 && requests === 0 && !isStretched) return
    await this.#counterOf(gate).settle(gate.account, { tokens, ...(requests !== 0 && { requests }), isStretched, minute })
  }

  /** What remains of a key's limits in its minute, as far as known; empty without limits. */
  states({ account, requestsPerMinute, tokensPerMinute }: KeyQuota): readonly LimitState[] {
    const limits = {
      ...(requestsPerMinute !== undefined && { requestsPerMinute }),
      ...(tokensPerMinute !== undefined && { tokensPerMinute }),
    }
    const usage = inPeriod(this.#minutes.known(account, limits), true)
    return [
      ...(requestsPerMinute === undefined ? [] : [stateOf('requests', requestsPerMinute, usage)]),
      ...(tokensPerMinute === undefined ? [] : [stateOf('tokens', tokensPerMinute, usage)]),
    ]
  }

  async budgets(quota: KeyQuota): Promise<readonly BudgetState[]> {
    const states = gatesOf(quota, Date.now()).map(async (gate): Promise<BudgetState | undefined> => {
      const { period, group, tokensPerMinute: limit = 0, untilMs: resetsAtMs = 0 } = gate
      if (period === 'minute') return undefined
      const { tokens: used } = await this.#budgets.read(gate.account, { untilMs: resetsAtMs })
      return { period, ...(group !== undefined && { group }), limit, used, resetsAtMs }
    })
    return (await Promise.all(states)).filter((state) => state !== undefined)
  }

  #counterOf({ period }: Gate): KnowingCounter {
    return period === 'minute' ? this.#minutes : this.#budgets
  }
}

/** Why nothing remains for any request, if so. */
function findSpent(gate: Gate, usage: Usage): AppError | undefined {
  const { requestsPerMinute, tokensPerMinute } = gate
  if (requestsPerMinute !== undefined && usage.requests >= requestsPerMinute)
    return exceeded(gate, { unit: 'requests', limit: requestsPerMinute, used: usage.requests, requested: 1 }, usage)
  if (tokensPerMinute !== undefined && usage.tokens >= tokensPerMinute)
    return exceeded(gate, { unit: 'tokens', limit: tokensPerMinute, used: usage.tokens, requested: 1 }, usage)
  return undefined
}

type Wanted = { readonly cost: RequestCost; readonly isCounted: boolean }

function plan(gate: Gate, usage: Usage, { cost, isCounted }: Wanted): Share | AppError {
  const spent = isCounted ? undefined : findSpent(gate, usage)
  if (spent !== undefined) return spent
  const { tokensPerMinute, period, untilMs } = gate
  const requests = isCounted || period !== 'minute' ? 0 : 1
  // Without a limit, use is not counted either.
  if (tokensPerMinute === undefined) return { requests, tokens: 0, isStretched: false }
  const { inputTokens = 0, maxOutputTokens: outputTokens = expectedOutputTokens } = cost
  const { tokens: used } = usage
  // Budgets are strict: nothing runs on less than its full need.
  const isStretched = period !== 'minute' || usage.isStretched
  const reserved = planTokens({ limit: tokensPerMinute, used, inputTokens, outputTokens, isStretched })
  if (typeof reserved === 'object') return { requests, ...reserved, ...(untilMs !== undefined && { untilMs }) }
  const requested = reserved === 'never' ? inputTokens : inputTokens + outputTokens
  const limit = { unit: 'tokens', limit: tokensPerMinute, used, requested } as const
  return exceeded(gate, limit, reserved === 'never' ? undefined : usage)
}

function stateOf(unit: LimitState['unit'], limit: number, usage: Usage): LimitState {
  return { unit, limit, remaining: Math.max(0, limit - usage[unit]), resetMs: msLeft(usage) }
}

function msLeft({ endsAtMs }: Usage): number {
  return Math.max(0, endsAtMs - steadyMs())
}

/** Outside a minute, waiting does not help. */
function exceeded(gate: Gate, limit: Omit<ExceededLimit, 'group'>, minute: Usage | undefined): AppError {
  const { period, group, untilMs } = gate
  const details = { exceeded: { ...limit, ...(group !== undefined && { group }) } }
  const { requested, used } = limit
  const whose = group === undefined ? 'this API key' : `the group '${group}' of this API key`
  const parts = minute?.among === undefined ? '' : ` (${minute.among} processes cannot count together now: each allows its part)`
  const perPeriod = `${limit.limit} ${limit.unit} per ${period}${parts}`
  if (untilMs !== undefined) {
    const reset = new Date(untilMs).toISOString().replace('.000', '')
    const left = Math.max(0, limit.limit - used)
    const what = `the budget of ${whose} is ${perPeriod}, of which ${left} remain; this request may take ${requested}`
    const message = `${what}: shorten it, lower its output limit, or wait until the budget begins again at ${reset}`
    return new AppError('budget-exceeded', message, { ...details, retryAfterMs: Math.max(1, untilMs - Date.now()) })
  }
  if (minute === undefined) {
    const message = `the prompt has ${requested} tokens, but the limit of ${whose} is ${perPeriod}; shorten it`
    return new AppError('rate-limit-exceeded', message, details)
  }
  const message = `the limit of ${whose} is ${perPeriod}, of which ${used} are used or reserved; this request may take ${requested}; try again later`
  return new AppError('rate-limit-exceeded', message, { ...details, retryAfterMs: msLeft(minute) })
}

/** The need of a request, and the state of a limit. */
type TokenPlan = {
  readonly limit: number
  readonly used: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** Another request of the account already runs on less than its full need. */
  readonly isStretched: boolean
}

/** The tokens to reserve, or why not: `later` there may be enough, `never` there will be. */
type Reserved = { readonly tokens: number; readonly isStretched: boolean } | 'later' | 'never'

/**
 * Reserves the full need of a request. If less is left, one request at a time may run on the rest, provided that its prompt fits: agents
 * ask for far more output than they get. So an account exceeds its limit by at most the output of one request.
 */
export function planTokens({ limit, used, inputTokens, outputTokens, isStretched }: TokenPlan): Reserved {
  const left = limit - used
  if (inputTokens > limit) return 'never'
  if (inputTokens + outputTokens <= left) return { tokens: inputTokens + outputTokens, isStretched: false }
  if (isStretched || left <= 0 || inputTokens > left) return 'later'
  return { tokens: left, isStretched: true }
}
