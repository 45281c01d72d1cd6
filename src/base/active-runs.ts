/** Counts running work, so that its end can be awaited. */
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

  /** Begins work that tracks itself: call `end` once. */
  begin(): void {
    this.#count += 1
  }

  end(): void {
    this.#count -= 1
    if (this.#count === 0) for (const wake of this.#idle) wake()
  }

  /** Whether nothing runs, now or within the time. */
  idleWithin(timeoutMs: number): Promise<boolean> {
    if (this.#count === 0) return Promise.resolve(true)
    return new Promise((resolve) => {
      const leave = (isIdle: boolean) => {
        clearTimeout(timer)
        this.#idle.delete(wake)
        resolve(isIdle)
      }
      const wake = () => leave(true)
      const timer = setTimeout(() => leave(false), timeoutMs)
      this.#idle.add(wake)
    })
  }
}
