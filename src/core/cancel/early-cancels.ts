/** How long a cancel waits for its run. */
const keptMs = 30_000
/** The limit for each owner; beyond it, the oldest goes. */
const maxKept = 1000

/**
 * Cancels that came before their run: a client may give up before its request has arrived. Each ends one run, of its own owner. Only
 * cancel ids are kept, which are never used again; a session id would end the next request of its user.
 */
export class EarlyCancels {
  readonly #now: () => number
  /** By owner, the times of its cancel ids, oldest first. `undefined` owns those that end a run of any owner. */
  readonly #kept = new Map<string | undefined, Map<string, number>>()

  /** `now`: milliseconds of a monotonic clock. */
  constructor(now: () => number) {
    this.#now = now
  }

  get size(): number {
    return [...this.#kept.values()].reduce((sum, { size }) => sum + size, 0)
  }

  add(owner: string | undefined, cancelId: string): void {
    const kept = this.#kept.get(owner) ?? new Map<string, number>()
    this.#kept.set(owner, kept)
    kept.delete(cancelId)
    kept.set(cancelId, this.#now())
    const [oldest] = kept.keys()
    if (kept.size > maxKept && oldest !== undefined) kept.delete(oldest)
  }

  /** Takes the cancel of this run; returns whether there was one. */
  take(owner: string, cancelId: string): boolean {
    return [owner, undefined].some((owning) => this.#kept.get(owning)?.delete(cancelId) === true)
  }

  /** Forgets expired cancels. */
  prune(): void {
    const oldestMs = this.#now() - keptMs
    for (const [owner, kept] of this.#kept) {
      for (const [cancelId, atMs] of kept) {
        if (atMs > oldestMs) break
        kept.delete(cancelId)
      }
      if (kept.size === 0) this.#kept.delete(owner)
    }
  }
}
