/** The weight of the last request in the mean: an eighth. */
const memory = 8

/** How fast the slots of a model become free. Times are milliseconds of one monotonic clock. */
export class DrainRate {
  readonly #slots: number
  #meanMs: number | undefined
  #running = 0
  #startsMs = 0

  constructor(slots: number) {
    this.#slots = slots
  }

  granted(atMs: number): void {
    this.#running += 1
    this.#startsMs += atMs
  }

  released(grantedAtMs: number, atMs: number): void {
    this.#running -= 1
    this.#startsMs -= grantedAtMs
    const heldMs = atMs - grantedAtMs
    this.#meanMs = this.#meanMs === undefined ? heldMs : this.#meanMs + (heldMs - this.#meanMs) / memory
  }

  /**
   * The time until this many requests have given back their slots, if they take as long as those before. A longer-running request counts
   * with its age, so that a stalled model does not promise to be quick. Undefined if nothing was measured.
   */
  waitMs(requests: number, nowMs: number): number | undefined {
    const ageMs = this.#running === 0 ? 0 : nowMs - this.#startsMs / this.#running
    if (this.#meanMs === undefined && ageMs === 0) return undefined
    return Math.round((requests * Math.max(this.#meanMs ?? 0, ageMs)) / this.#slots)
  }
}
