const keptTimes = 64
/** A check that takes less may simply have met a busy moment. */
const leastMs = 750
/** A check that takes longer has failed. */
const mostMs = 2500

/** How long the servers of a model took to answer the latest checks. */
export class CheckLatency {
  readonly #times: number[] = []
  #next = 0

  learn(ms: number): void {
    this.#times[this.#next] = ms
    this.#next = (this.#next + 1) % keptTimes
  }

  /** When a check without an answer becomes unusual: three times the slowest answer. */
  get overdueMs(): number {
    return this.#times.length === 0 ? mostMs : Math.min(mostMs, Math.max(leastMs, 3 * Math.max(...this.#times)))
  }
}
