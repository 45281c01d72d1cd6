import { Waiters } from '../supervise/waiters.ts'
import { orAborted } from './or-aborted.ts'

/** Runs work strictly one after another, first come, first served. */
export class Turns {
  readonly #waiters = new Waiters()
  #isTaken = false

  /**
   * The result of `work`, which begins when all earlier work has ended. Work that is aborted before it began never begins; work that
   * has begun keeps its turn until it ends, even if the caller aborts.
   */
  take<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return orAborted(this.#inTurn(work, signal), signal)
  }

  /** Fails all work that has not begun. */
  refuse(error: unknown): void {
    this.#waiters.fail(error)
  }

  async #inTurn<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted()
    if (this.#isTaken) await this.#waiters.wait(signal)
    this.#isTaken = true
    try {
      return await work()
    } finally {
      // The turn stays taken while it passes to the next waiter, so that a new caller cannot take it.
      this.#isTaken = this.#waiters.releaseFirst()
    }
  }
}
