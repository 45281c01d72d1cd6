/** Counts running generations, so that an engine can wait for their end. */
export class ActiveRuns {
  #count = 0
  readonly #idle = new Set<() => void>()

  async track<T>(run: () => Promise<T>): Promise<T> {
    this.begin()
    try {
      return await run()
    } finally {
      this.end()
    }
  }

  /** For one that tracks itself: call `end` once. */
  begin(): void {
    this.#count += 1
  }

  end(): void {
    this.#count -= 1
    if (this.#count === 0) for (const wake of this.#idle) wake()
  }

  /** Resolves when nothing runs, or after the timeout. */
  idleWithin(timeoutMs: number): Promise<void> {
    if (this.#count === 0) return Promise.resolve()
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer)
        this.#idle.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, timeoutMs)
      this.#idle.add(wake)
    })
  }
}
