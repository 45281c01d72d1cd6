import { Waiters } from '../supervise/waiters.ts'
import { orAborted } from './or-aborted.ts'

/** Work that is done one after the other, in the order that it came in. */
export class Turns {
  readonly #waiters = new Waiters()
  #isTaken = false

  /**
   * The result of `work`, which begins when everything before it has ended. What is given up before that never begins; what
   * has begun keeps its turn to its end, whoever has left by then.
   */
  take<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return orAborted(this.#inTurn(work, signal), signal)
  }

  /** Fails everything that has not begun. */
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
      // It stays taken while it is handed on, so that nobody comes in between.
      this.#isTaken = this.#waiters.releaseFirst()
    }
  }
}
