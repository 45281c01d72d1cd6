import type { Engine } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { Scheduler, SchedulerLoad, Ticket } from '../../contract/scheduler.ts'

export type FifoSchedulerOptions = {
  readonly slots: number
  /** How many requests may wait beside those that run. */
  readonly maxQueued: number
  readonly engine: Pick<Engine, 'ensureReady'>
}

/**
 * Hands out a model's slots in the order of asking, to a bounded number of requests. A slot is given back exactly when the engine has
 * stopped working on the request: one that is still busy is never given away.
 */
export class FifoScheduler implements Scheduler {
  readonly #options: FifoSchedulerOptions
  #present = 0
  #busy = 0
  /** Hands the slot over to the request that waits longest. */
  readonly #waiting = new Set<() => void>()

  constructor(options: FifoSchedulerOptions) {
    this.#options = options
  }

  get load(): SchedulerLoad {
    return { slots: this.#options.slots, busy: this.#busy, queued: this.#present - this.#busy }
  }

  /** Throws `queue-full` when all slots are taken and as many wait as may. */
  enter(): Ticket {
    const { slots, maxQueued, engine } = this.#options
    if (this.#present >= slots + maxQueued) {
      const message = `all ${slots} slots are busy and ${this.load.queued} requests already wait; try again shortly`
      throw new AppError('queue-full', message, { retryAfterMs: 1000 })
    }
    this.#present += 1
    let state: 'outside' | 'waiting' | 'inside' | 'left' = 'outside'
    const release = () => {
      if (state !== 'inside') return
      state = 'outside'
      this.#passOn()
    }
    return {
      ready: (signal) => engine.ensureReady(signal),
      slot: (_cost, signal) => {
        if (signal.aborted) return Promise.reject(signal.reason)
        if (this.#busy < slots) {
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
      release,
      charge: () => undefined,
      leave: () => {
        if (state === 'left') return
        release()
        state = 'left'
        this.#present -= 1
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
