import { ChurnSet } from './churn.ts'

type Waiter = { resolve(): void; reject(error: unknown): void }

/** Callers that wait for the same event; each can abort separately. */
export class Waiters {
  readonly #waiting = new ChurnSet<Waiter>()

  /** Resolves at the next `release`; rejects at the next `fail`, or with the signal's reason when it is aborted first. */
  wait(signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return Promise.reject(signal.reason)
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(waiter)
        reject(signal?.reason)
      }
      const waiter: Waiter = {
        resolve: () => {
          signal?.removeEventListener('abort', leave)
          resolve()
        },
        reject: (error) => {
          signal?.removeEventListener('abort', leave)
          reject(error)
        },
      }
      signal?.addEventListener('abort', leave, { once: true })
      this.#waiting.add(waiter)
    })
  }

  release(): void {
    for (const waiter of this.#take()) waiter.resolve()
  }

  /** Resolves only the first waiter. Returns false if there is none. */
  releaseFirst(): boolean {
    const [first] = this.#waiting
    if (first === undefined) return false
    this.#waiting.delete(first)
    first.resolve()
    return true
  }

  fail(error: unknown): void {
    for (const waiter of this.#take()) waiter.reject(error)
  }

  /** Takes the current waiters: one added during a release waits for the next. */
  #take(): Waiter[] {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    return waiting
  }
}
