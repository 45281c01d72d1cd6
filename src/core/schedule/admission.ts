import { AppError } from '../../contract/errors.ts'

/** A request's place at a model, from its arrival to its end. */
export type Place = {
  /**
   * Resolves when a slot is this request's, in the order of asking. Rejects with the signal's reason when it is aborted
   * first; the turn then passes to the next.
   */
  takeSlot(signal: AbortSignal): Promise<void>
  /** Gives up the place, and the slot if it has one. Idempotent. */
  leave(): void
}

/**
 * Hands out a model's slots in order, to a bounded number of requests. A place must be left exactly when the engine has
 * stopped working on the request: a slot that is still busy is never given away.
 */
export class Admission {
  readonly slots: number
  readonly maxQueued: number
  #present = 0
  #busy = 0
  /** Hands the slot over to whoever waits longest. */
  readonly #waiting = new Set<() => void>()

  constructor(options: { slots: number; maxQueued: number }) {
    this.slots = options.slots
    this.maxQueued = options.maxQueued
  }

  get busy(): number {
    return this.#busy
  }

  /** Requests that have come and have no slot yet. */
  get queued(): number {
    return this.#present - this.#busy
  }

  /** Throws `queue-full` when all slots are taken and as many wait as may: before any work is done for the request. */
  enter(): Place {
    if (this.#present >= this.slots + this.maxQueued) {
      const message = `all ${this.slots} slots are busy and ${this.queued} requests already wait; try again shortly`
      throw new AppError('queue-full', message, { retryAfterMs: 1000 })
    }
    this.#present += 1
    let state: 'outside' | 'waiting' | 'inside' | 'left' = 'outside'
    return {
      takeSlot: (signal) => {
        if (signal.aborted) return Promise.reject(signal.reason)
        if (this.#busy < this.slots) {
          this.#busy += 1
          state = 'inside'
          return Promise.resolve()
        }
        state = 'waiting'
        return new Promise((resolve, reject) => {
          const abandon = () => {
            this.#waiting.delete(grant)
            state = 'outside'
            reject(signal.reason)
          }
          const grant = () => {
            signal.removeEventListener('abort', abandon)
            state = 'inside'
            resolve()
          }
          signal.addEventListener('abort', abandon, { once: true })
          this.#waiting.add(grant)
        })
      },
      leave: () => {
        if (state === 'left') return
        const hadSlot = state === 'inside'
        state = 'left'
        this.#present -= 1
        if (hadSlot) this.#passOn()
      },
    }
  }

  #passOn(): void {
    const [grant] = this.#waiting
    if (grant === undefined) {
      this.#busy -= 1
      return
    }
    this.#waiting.delete(grant)
    grant()
  }
}
