import { AppError } from '../errors.ts'

/** The right to occupy one slot of a model. */
export type Lease = { release(): void }

type Waiter = { grant(lease: Lease): void }

/**
 * Hands out a model's slots in order of arrival, with a bounded queue. A lease must be released exactly when the engine
 * has stopped working on the request: a slot that is still busy is never given away.
 */
export class Admission {
  readonly slots: number
  readonly maxQueued: number
  #busy = 0
  readonly #waiting = new Set<Waiter>()

  constructor(options: { slots: number; maxQueued: number }) {
    this.slots = options.slots
    this.maxQueued = options.maxQueued
  }

  get busy(): number {
    return this.#busy
  }

  get queued(): number {
    return this.#waiting.size
  }

  /**
   * Resolves with a slot in order of arrival. Rejects with `queue-full` at once when too many wait, and with the signal's
   * reason when it is aborted first; either way the place in the queue is free again.
   */
  acquire(signal: AbortSignal): Promise<Lease> {
    if (signal.aborted) return Promise.reject(signal.reason)
    if (this.#busy < this.slots) return Promise.resolve(this.#createLease())
    if (this.#waiting.size >= this.maxQueued) {
      const message = `all ${this.slots} slots are busy and ${this.#waiting.size} requests already wait; try again shortly`
      return Promise.reject(new AppError('queue-full', message, { retryAfterMs: 1000 }))
    }
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(waiter)
        reject(signal.reason)
      }
      const waiter: Waiter = {
        grant: (lease) => {
          signal.removeEventListener('abort', leave)
          resolve(lease)
        },
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#waiting.add(waiter)
    })
  }

  #createLease(): Lease {
    this.#busy += 1
    let released = false
    return {
      release: () => {
        if (released) return
        released = true
        this.#busy -= 1
        this.#grantNext()
      },
    }
  }

  #grantNext(): void {
    const [next] = this.#waiting
    if (next === undefined) return
    this.#waiting.delete(next)
    next.grant(this.#createLease())
  }
}
