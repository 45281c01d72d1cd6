/** Counts the requests that are being answered, and tells when there are none. */
export class RunningRequests {
  #count = 0
  readonly #waiting = new Set<() => void>()

  enter(): void {
    this.#count += 1
  }

  leave(): void {
    this.#count -= 1
    if (this.#count > 0) return
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }

  /** Whether all requests had ended before the time was over. */
  idleWithin(timeoutMs: number): Promise<boolean> {
    if (this.#count === 0) return Promise.resolve(true)
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer)
        resolve(true)
      }
      const timer = setTimeout(() => {
        this.#waiting.delete(wake)
        resolve(false)
      }, timeoutMs)
      this.#waiting.add(wake)
    })
  }
}
