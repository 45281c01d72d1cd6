import type { RateLimiterAbstract } from 'rate-limiter-flexible'

/** What an account has used in its minute; one that has used nothing has no minute yet. */
export type Minute = { readonly used: number; readonly endsAtMs: number }

type Account = { confirmed: Minute; pending: number }

const unused: Minute = { used: 0, endsAtMs: 0 }

/** Counts points per account and minute, and knows at once what this process has counted. */
export class MinuteCounter {
  readonly #limiter: RateLimiterAbstract
  /** One per key, so that it does not grow with requests. */
  readonly #accounts = new Map<string, Account>()

  constructor(limiter: RateLimiterAbstract) {
    this.#limiter = limiter
  }

  read(account: string): Minute {
    const known = this.#accounts.get(account)
    if (known === undefined) return unused
    const { used, endsAtMs } = Date.now() < known.confirmed.endsAtMs ? known.confirmed : unused
    return { used: used + known.pending, endsAtMs }
  }

  /** Counts points, also beyond every limit. Resolves with the minute that they count for. */
  async add(account: string, points: number): Promise<Minute> {
    const known = this.#accounts.get(account) ?? { confirmed: unused, pending: 0 }
    this.#accounts.set(account, known)
    // Never later than the limiter's own end: what is taken back after that would count for the next minute.
    const nowMs = Date.now()
    // Begins before the first `await`: what is read next includes it.
    const counting = points < 0 ? this.#limiter.reward(account, -points) : this.#limiter.penalty(account, points)
    known.pending += points
    try {
      const { consumedPoints, msBeforeNext } = await counting
      known.confirmed = { used: consumedPoints, endsAtMs: nowMs + msBeforeNext }
      return known.confirmed
    } finally {
      known.pending -= points
    }
  }

  /** Takes points back, unless the minute that they count for is over: the next one must not gain by them. */
  async takeBack(account: string, points: number, { endsAtMs }: Minute): Promise<void> {
    if (points > 0 && Date.now() < endsAtMs) await this.add(account, -points)
  }
}
