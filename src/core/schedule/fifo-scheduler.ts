import type { Engine } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { Scheduler, SchedulerLoad, Ticket } from '../../contract/scheduler.ts'

export type FifoSchedulerOptions = {
  readonly slots: number
  /** How many requests may wait in addition to those running. */
  readonly maxQueued: number
  readonly engine: Pick<Engine, 'ensureReady'>
}

/**
 * Grants a model's slots first come, first served, to a bounded number of requests. A slot is only passed on after the engine has
 * stopped working on the request.
 */
export class FifoScheduler implements Scheduler {
  readonly #options: FifoSchedulerOptions
  #present = 0
  #busy = 0
  /** One callback per waiting request, which grants it a slot; the oldest first. */
  readonly #waiting = new Set<() => void>()

  constructor(options: FifoSchedulerOptions) {
    this.#options = options
  }

  get load(): SchedulerLoad {
    return { slots: this.#options.slots, busy: this.#busy, queued: this.#present - this.#busy }
  }

  /** Throws `queue-full` when all slots are busy and the queue is full. */
  enter(): Ticket {
    const { slots, maxQueued, engine } = this.#options
    if (this.#present >= slots + maxQueued) {
      const { busy, queued } = this.load
      const message = `the model's queue is full (requests running: ${busy}, waiting: ${queued}); try again shortly`
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
