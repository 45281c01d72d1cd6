import { ChurnMap } from '../../base/churn.ts'
import { Waiters } from '../../base/waiters.ts'
import type { Engine, EngineFacts } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { Lane, OnQueued, Scheduler, SchedulerLoad, SchedulerRequest, ServerShare, Ticket } from '../../contract/scheduler.ts'
import { Decisions, type Effect } from './decisions.ts'
import { Entry } from './entry.ts'

export type FairSchedulerOptions = {
  readonly slots: number
  /** How many requests may wait in addition to those running. */
  readonly maxQueued: number
  readonly engine: Pick<Engine, 'ensureReady'> & { readonly facts?: Pick<EngineFacts, 'serverSlots'> }
  /** The part of this process in the engine's servers, where others send requests to them. */
  readonly share?: ServerShare | undefined
  /** Milliseconds of a monotonic clock. */
  now?(): number
  /** Called when a request gets a slot, with its time of waiting. */
  onGranted?(lane: Lane, waitedMs: number): void
}

type Waiter = { grant(): void; refuse(error: AppError): void }

/** Grants a model's slots as `Decisions` says; see there for the rules. */
export class FairScheduler implements Scheduler {
  readonly #options: FairSchedulerOptions
  readonly #decisions: Decisions
  readonly #now: () => number
  readonly #waiters = new ChurnMap<Entry, Waiter>()
  /** The errors of requests that lost their place before asking for a slot. */
  readonly #refusals = new WeakMap<Entry, AppError>()
  readonly #awaitingIdle = new Waiters()

  constructor(options: FairSchedulerOptions) {
    this.#options = options
    const { slots, engine, share } = options
    const backgroundSlots = (interactive: number) => {
      const own = engine.facts?.serverSlots
      return own === undefined ? slots : (share?.slotsOf(own, interactive) ?? own)
    }
    this.#decisions = new Decisions({ ...options, backgroundSlots })
    share?.onLess(() => this.#carryOut(this.#decisions.shrink()))
    this.#now = options.now ?? (() => performance.now())
  }

  get load(): SchedulerLoad {
    return this.#decisions.load
  }

  /** Throws `queue-full` when the queue is full and no other caller has more requests in it. */
  enter({ principal, session, lane, onQueued, onWanted }: SchedulerRequest): Ticket {
    const entry = new Entry(principal.id, session, lane, onWanted)
    this.#carryOut(this.#decisions.enter(entry, this.#now()))
    const refusal = this.#refusals.get(entry)
    if (refusal !== undefined) throw refusal
    return {
      ready: (signal) => this.#options.engine.ensureReady(signal),
      slot: (cost, signal) => {
        if (signal.aborted) return Promise.reject(signal.reason)
        const lost = this.#refusals.get(entry)
        if (lost !== undefined) return Promise.reject(lost)
        // With a free slot, nobody waits: the only grant is that of this request.
        this.#carryOut(this.#decisions.ask(entry, cost, this.#now()))
        if (entry.state === 'waiting') return this.#wait(entry, signal, onQueued)
        this.#options.onGranted?.(entry.lane, 0)
        return undefined
      },
      release: () => this.#carryOut(this.#decisions.release(entry, this.#now())),
      charge: (tokens) => this.#decisions.charge(entry, tokens),
      leave: () => {
        this.#carryOut(this.#decisions.leave(entry, this.#now()))
        if (this.#decisions.isIdle) this.#awaitingIdle.release()
      },
    }
  }

  async whenIdle(signal: AbortSignal): Promise<void> {
    // Another request may have entered since the last one left.
    while (!this.#decisions.isIdle) await this.#awaitingIdle.wait(signal)
  }

  #wait(entry: Entry, signal: AbortSignal, onQueued: OnQueued | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const askedMs = this.#now()
      const settle = () => {
        this.#waiters.delete(entry)
        signal.removeEventListener('abort', abandon)
      }
      const abandon = () => {
        settle()
        this.#decisions.abandon(entry)
        reject(signal.reason)
      }
      this.#waiters.set(entry, {
        grant: () => {
          settle()
          this.#options.onGranted?.(entry.lane, this.#now() - askedMs)
          resolve()
        },
        refuse: (error) => {
          settle()
          reject(error)
        },
      })
      signal.addEventListener('abort', abandon, { once: true })
      onQueued?.(() => this.#decisions.placeOf(entry, this.#now()))
    })
  }

  #carryOut(effects: readonly Effect[]): void {
    for (const effect of effects) {
      const { entry } = effect
      if (effect.type === 'grant') this.#waiters.get(entry)?.grant()
      else if (effect.type === 'want') this.#want(entry)
      else {
        const error = this.#queueFull(effect)
        this.#refusals.set(entry, error)
        this.#waiters.get(entry)?.refuse(error)
      }
    }
  }

  #want(entry: Entry): void {
    const { onWanted } = entry
    entry.onWanted = undefined
    onWanted?.()
  }

  #queueFull({ reason, retryAfterMs }: Extract<Effect, { type: 'refuse' }>): AppError {
    const { busy, queued } = this.load
    const numbers = `requests running: ${busy}, waiting: ${queued}`
    const message =
      reason === 'full'
        ? `the model's queue is full (${numbers}); try again later`
        : `the model's queue is full (${numbers}), and this request gave its place to a caller with fewer of them; try again later`
    return new AppError('queue-full', message, { retryAfterMs })
  }
}
