/** How a retry has ended: whether it was answered. */
export type SettleRetry = (isAnswered: boolean, nowMs: number) => void

const windowMs = 10_000
const share = 0.2
const least = 3

/**
 * Keeps the retries of a model at a fifth of its requests, as those of the last ten seconds, and three at least: servers that have too much
 * to do get no more by failing. A retry that another server answers is failover, and free: what counts are retries that fail and those that
 * have nowhere else to go. Times are milliseconds of any monotonic clock, passed in.
 */
export class RetryBudget {
  readonly #requests = new RecentCount()
  readonly #failed = new RecentCount()
  #open = 0

  /** A request begins. */
  begin(nowMs: number): void {
    this.#requests.add(nowMs)
  }

  /** Undefined: the request fails instead. `isFailover`: another server can be used that has not failed it. */
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

/** A count of the last ten seconds, in seconds. */
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
