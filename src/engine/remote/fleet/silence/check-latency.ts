const keptTimes = 64
/** Shorter than this, a check may just have met a busy moment. */
const leastMs = 750
/** A check that takes longer than this has failed. */
const mostMs = 2500

/** How long the servers of a model take to answer checks: the last ones only. */
export class CheckLatency {
  readonly #times: number[] = []
  #next = 0

  learn(ms: number): void {
    this.#times[this.#next] = ms
    this.#next = (this.#next + 1) % keptTimes
  }

  /** The time from which a check without an answer is unusual: three times the slowest answer. */
  get overdueMs(): number {
    return this.#times.length === 0 ? mostMs : Math.min(mostMs, Math.max(leastMs, 3 * Math.max(...this.#times)))
  }
}
