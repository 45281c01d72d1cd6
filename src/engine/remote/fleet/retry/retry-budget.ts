/** Reports how a retry ended: whether it was answered. */
export type SettleRetry = (isAnswered: boolean, nowMs: number) => void

const windowMs = 10_000
const share = 0.2
const least = 3

/**
 * Limits the retries of a model to a fifth of its requests in the last ten seconds, and at least three, so that overloaded servers do not
 * get more load by failing. A retry that another server answers is a failover, and free: only retries that fail, or that go to the same
 * server, count. Callers pass the time, in milliseconds of any monotonic clock.
 */
export class RetryBudget {
  readonly #requests = new RecentCount()
  readonly #failed = new RecentCount()
  #open = 0

  begin(nowMs: number): void {
    this.#requests.add(nowMs)
  }

  /** Undefined: the request has to fail. `isFailover`: a usable server is left that has not failed it. */
  take(nowMs: number, isFailover: boolean): SettleRetry | undefined {
    const most = Math.max(least, share * this.#requests.count(nowMs))
    if (this.#failed.count(nowMs) + (isFailover ? 0 : this.#open) >= most) return undefined
    if (!isFailover) this.#open += 1
    return (isAnswered, endMs) => {
      if (!isFailover) this.#open -= 1
      if (!isAnswered) this.#failed.add(endMs)
    }
  }
}

/** A sum over the last ten seconds, second by second. */
class RecentCount {
  readonly #seconds: { readonly second: number; count: number }[] = []

  add(nowMs: number): void {
    const second = Math.floor(nowMs / 1000)
    this.#forget(nowMs)
    const last = this.#seconds.at(-1)
    if (last?.second === second) last.count += 1
    else this.#seconds.push({ second, count: 1 })
  }

  count(nowMs: number): number {
    this.#forget(nowMs)
    return this.#seconds.reduce((sum, { count }) => sum + count, 0)
  }

  #forget(nowMs: number): void {
    while (this.#seconds[0] !== undefined && (this.#seconds[0].second + 1) * 1000 <= nowMs - windowMs) this.#seconds.shift()
  }
}
