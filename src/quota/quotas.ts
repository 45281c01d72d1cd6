import { RateLimiterMemory } from 'rate-limiter-flexible'
import { AppError } from '../contract/errors.ts'
import type { ExceededLimit, KeyQuota, LimitState } from '../contract/quota.ts'
import type { RequestCost } from '../contract/scheduler.ts'
import { type Minute, MinuteCounter } from './minute-counter.ts'
import { planTokens } from './plan-tokens.ts'

const minuteSeconds = 60
/** What a request without an output limit is expected to generate. */
const expectedOutputTokens = 4096

/** What was reserved for a request. Settle it. */
export type Reservation = { readonly tokens: number; readonly isStretched: boolean; readonly minute: Minute }

/** The limits of keys. What a request may use is reserved before it runs, and replaced by what it used when it ends. */
export class Quotas {
  readonly #requests = createCounter('requests')
  readonly #tokens = createCounter('tokens')
  /** Accounts of which a request runs on fewer tokens than it may use. */
  readonly #stretched = new Set<string>()

  /** Throws `rate-limit-exceeded` when nothing is left for any request. */
  check({ account, requestsPerMinute, tokensPerMinute }: KeyQuota): void {
    const requests = this.#requests.read(account)
    if (requestsPerMinute !== undefined && requests.used >= requestsPerMinute)
      throw exceeded({ unit: 'requests', limit: requestsPerMinute, used: requests.used, requested: 1 }, requests)
    const tokens = this.#tokens.read(account)
    if (tokensPerMinute !== undefined && tokens.used >= tokensPerMinute)
      throw exceeded({ unit: 'tokens', limit: tokensPerMinute, used: tokens.used, requested: 1 }, tokens)
  }

  /**
   * Counts a request and reserves its tokens, or counts nothing and rejects with `rate-limit-exceeded`. `isCounted`: it only needs more
   * tokens.
   */
  async admit(quota: KeyQuota, cost: RequestCost, { isCounted = false } = {}): Promise<Reservation> {
    if (!isCounted) this.check(quota)
    const { tokens, isStretched } = this.#plan(quota, cost)
    const { account } = quota
    if (isStretched) this.#stretched.add(account)
    // Without a pause since what is left was read.
    const counting = isCounted ? undefined : this.#requests.add(account, 1)
    const [minute] = await Promise.all([this.#tokens.add(account, tokens), counting])
    return { tokens, isStretched, minute }
  }

  /** Replaces what was reserved by what was used. */
  async settle({ account }: KeyQuota, { tokens, isStretched, minute }: Reservation, usedTokens: number): Promise<void> {
    if (isStretched) this.#stretched.delete(account)
    if (usedTokens > tokens) await this.#tokens.add(account, usedTokens - tokens)
    else await this.#tokens.takeBack(account, tokens - usedTokens, minute)
  }

  /** What is left of the limits of a key; empty without limits. */
  states({ account, requestsPerMinute, tokensPerMinute }: KeyQuota): readonly LimitState[] {
    return [
      ...(requestsPerMinute === undefined ? [] : [stateOf('requests', requestsPerMinute, this.#requests.read(account))]),
      ...(tokensPerMinute === undefined ? [] : [stateOf('tokens', tokensPerMinute, this.#tokens.read(account))]),
    ]
  }

  #plan({ account, tokensPerMinute }: KeyQuota, cost: RequestCost): Pick<Reservation, 'tokens' | 'isStretched'> {
    // Without a limit, the use is not counted either.
    if (tokensPerMinute === undefined) return { tokens: 0, isStretched: false }
    const { inputTokens = 0, maxOutputTokens: outputTokens = expectedOutputTokens } = cost
    const now = this.#tokens.read(account)
    const isStretched = this.#stretched.has(account)
    const plan = planTokens({ limit: tokensPerMinute, used: now.used, inputTokens, outputTokens, isStretched })
    if (typeof plan === 'object') return plan
    const requested = plan === 'never' ? inputTokens : inputTokens + outputTokens
    const limit = { unit: 'tokens', limit: tokensPerMinute, used: now.used, requested } as const
    throw exceeded(limit, plan === 'never' ? undefined : now)
  }
}

/** It counts only: limits differ between keys, and change while the server runs. */
function createCounter(keyPrefix: string): MinuteCounter {
  return new MinuteCounter(new RateLimiterMemory({ keyPrefix, points: Number.MAX_SAFE_INTEGER, duration: minuteSeconds }))
}

function stateOf(unit: LimitState['unit'], limit: number, minute: Minute): LimitState {
  return { unit, limit, remaining: Math.max(0, limit - minute.used), resetMs: msLeft(minute) }
}

function msLeft({ endsAtMs }: Minute): number {
  return Math.max(0, endsAtMs - Date.now())
}

/** Without a minute, waiting does not help. */
function exceeded(limit: ExceededLimit, minute: Minute | undefined): AppError {
  const { requested, used } = limit
  const perMinute = `${limit.limit} ${limit.unit} per minute`
  if (minute === undefined) {
    const message = `the prompt has ${requested} tokens, but the limit of this API key is ${perMinute}; shorten it`
    return new AppError('rate-limit-exceeded', message, { exceeded: limit })
  }
  const message = `the limit of this API key is ${perMinute}, of which ${used} are used or reserved; this request may take ${requested}; try again later`
  return new AppError('rate-limit-exceeded', message, { exceeded: limit, retryAfterMs: msLeft(minute) })
}
