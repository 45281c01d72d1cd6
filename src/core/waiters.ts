import { ChurnSet } from '../base/churn.ts'
/** Lets any number of readers wait for the next change of something. */
export class Waiters {
  readonly #waiting = new ChurnSet<() => void>()

  /** Resolves at the next `wake`, or when the signal is aborted, which it must not be yet. */
  wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      this.#waiting.add(wake)
      signal.addEventListener('abort', wake)
    })
  }

  /** Ends all waits. */
  wake(): void {
    for (const wake of [...this.#waiting]) wake()
  }
}
