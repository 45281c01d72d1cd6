import { AppError } from '../contract/errors.ts'
import type { ExceededLimit, KeyQuota, LimitState, Share, Usage, UsageCounter } from '../contract/quota.ts'
import type { RequestCost } from '../contract/scheduler.ts'
import { MinuteCounter } from './minute-counter.ts'

/** What a request without an output limit is expected to generate. */
const expectedOutputTokens = 4096

/** What was reserved for a request. Settle it. */
export type Reservation = Pick<Share, 'tokens' | 'isStretched'> & Pick<Usage, 'minute'>

/** A counter whose latest counts are known without waiting; with one process, they are exact. */
export type KnowingCounter = UsageCounter & { known(account: string): Usage }

/** The limits of keys. What a request may use is reserved before it runs, and replaced by what it used when it ends. */
export class Quotas {
  readonly #counter: KnowingCounter
  /**
   * What the last tickets of requests that were counted have used, by the signals of the requests. One request may enter several times, such as
   * to shorten a conversation before it answers, or on another model.
   */
  readonly counted = new WeakMap<AbortSignal, { tokens: number }>()

  constructor(counter: KnowingCounter = new MinuteCounter()) {
    this.#counter = counter
  }

  /** Rejects with `rate-limit-exceeded` when nothing is left for any request. */
  async check(quota: KeyQuota): Promise<void> {
    if (findSpent(quota, this.#counter.known(quota.account)) === undefined) return
    const spent = findSpent(quota, await this.#counter.read(quota.account))
    if (spent !== undefined) throw spent
  }

  /**
   * Counts a request and reserves its tokens, or counts nothing and rejects with `rate-limit-exceeded`. `isCounted`: it only needs more
   * tokens.
   */
  async admit(quota: KeyQuota, cost: RequestCost, { isCounted = false } = {}): Promise<Reservation> {
    const { account } = quota
    let usage = this.#counter.known(account)
    for (let isFresh = false; ; isFresh = true) {
      const share = plan(quota, usage, { cost, isCounted })
      const isEnough = !(share instanceof AppError) && !share.isStretched
      if (isEnough || isFresh) {
        if (share instanceof AppError) throw share
        const taken = await this.#counter.take(account, share, quota)
        if (taken !== undefined) return { tokens: share.tokens, isStretched: share.isStretched, minute: taken.minute }
      }
      // Other processes may have used, or given back, something. A race that is lost is one that another request has won.
      usage = await this.#counter.read(account)
    }
  }

  /** Counts a call of a tool of the server; false: the key has no more in this minute, and nothing is counted. */
  async admitsToolCall({ account, toolCallsPerMinute }: KeyQuota): Promise<boolean> {
    if (toolCallsPerMinute === undefined) return true
    const share = { requests: 1, tokens: 0, isStretched: false }
    return (await this.#counter.take(`${account} tools`, share, { requestsPerMinute: toolCallsPerMinute })) !== undefined
  }

  /** Replaces what was reserved by what was used. */
  async settle({ account }: KeyQuota, { tokens, isStretched, minute }: Reservation, usedTokens: number): Promise<void> {
    if (usedTokens === tokens && !isStretched) return
    await this.#counter.settle(account, { tokens: usedTokens - tokens, isStretched, minute })
  }

  /** What is left of the limits of a key, as far as is known; empty without limits. */
  states({ account, requestsPerMinute, tokensPerMinute }: KeyQuota): readonly LimitState[] {
    const usage = this.#counter.known(account)
    return [
      ...(requestsPerMinute === undefined ? [] : [stateOf('requests', requestsPerMinute, usage)]),
      ...(tokensPerMinute === undefined ? [] : [stateOf('tokens', tokensPerMinute, usage)]),
    ]
  }
}

/** Why nothing is left for any request, if so. */
function findSpent({ requestsPerMinute, tokensPerMinute }: KeyQuota, usage: Usage): AppError | undefined {
  if (requestsPerMinute !== undefined && usage.requests >= requestsPerMinute)
    return exceeded({ unit: 'requests', limit: requestsPerMinute, used: usage.requests, requested: 1 }, usage)
  if (tokensPerMinute !== undefined && usage.tokens >= tokensPerMinute)
    return exceeded({ unit: 'tokens', limit: tokensPerMinute, used: usage.tokens, requested: 1 }, usage)
  return undefined
}

type Wanted = { readonly cost: RequestCost; readonly isCounted: boolean }

function plan(quota: KeyQuota, usage: Usage, { cost, isCounted }: Wanted): Share | AppError {
  const spent = isCounted ? undefined : findSpent(quota, usage)
  if (spent !== undefined) return spent
  const requests = isCounted ? 0 : 1
  const { tokensPerMinute } = quota
  // Without a limit, the use is not counted either.
  if (tokensPerMinute === undefined) return { requests, tokens: 0, isStretched: false }
  const { inputTokens = 0, maxOutputTokens: outputTokens = expectedOutputTokens } = cost
  const { tokens: used, isStretched } = usage
  const reserved = planTokens({ limit: tokensPerMinute, used, inputTokens, outputTokens, isStretched })
  if (typeof reserved === 'object') return { requests, ...reserved }
  const requested = reserved === 'never' ? inputTokens : inputTokens + outputTokens
  const limit = { unit: 'tokens', limit: tokensPerMinute, used, requested } as const
  return exceeded(limit, reserved === 'never' ? undefined : usage)
}

function stateOf(unit: LimitState['unit'], limit: number, usage: Usage): LimitState {
  return { unit, limit, remaining: Math.max(0, limit - usage[unit]), resetMs: msLeft(usage) }
}

function msLeft({ endsAtMs }: Usage): number {
  return Math.max(0, endsAtMs - Date.now())
}

/** Without a minute, waiting does not help. */
function exceeded(limit: ExceededLimit, minute: Usage | undefined): AppError {
  const { requested, used } = limit
  const perMinute = `${limit.limit} ${limit.unit} per minute`
  if (minute === undefined) {
    const message = `the prompt has ${requested} tokens, but the limit of this API key is ${perMinute}; shorten it`
    return new AppError('rate-limit-exceeded', message, { exceeded: limit })
  }
  const message = `the limit of this API key is ${perMinute}, of which ${used} are used or reserved; this request may take ${requested}; try again later`
  return new AppError('rate-limit-exceeded', message, { exceeded: limit, retryAfterMs: msLeft(minute) })
}

/** What a request may take of a limit, and what is taken already. */
type TokenPlan = {
  readonly limit: number
  readonly used: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** A request of the account is running on less than it may use. */
  readonly isStretched: boolean
}

/** The tokens to reserve, or why there are none: `later` there may be, `never` are there as many. */
type Reserved = { readonly tokens: number; readonly isStretched: boolean } | 'later' | 'never'

/**
 * Reserves all that a request may use. Where that is not left, one request at a time may run on what is left, if its prompt fits: agents
 * ask for far more output than they get. So an account exceeds its limit by at most the output of one request.
 */
export function planTokens({ limit, used, inputTokens, outputTokens, isStretched }: TokenPlan): Reserved {
  const left = limit - used
  if (inputTokens > limit) return 'never'
  if (inputTokens + outputTokens <= left) return { tokens: inputTokens + outputTokens, isStretched: false }
  if (isStretched || left <= 0 || inputTokens > left) return 'later'
  return { tokens: left, isStretched: true }
}
