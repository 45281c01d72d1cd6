import { ChurnMap } from './churn.ts'
import { Waiters } from './waiters.ts'

/** Runs at most `width` jobs concurrently; the others wait, first come, first served. */
export class Queue {
  readonly #width: number
  readonly #waiters = new Waiters()
  #running = 0

  constructor(width = 1) {
    this.#width = width
  }

  get isIdle(): boolean {
    return this.#running === 0
  }

  /** Work aborted while waiting never begins; work that has begun keeps its place until it ends. */
  async run<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    const waiting = this.enter(signal)
    if (waiting !== undefined) await waiting
    try {
      return await work()
    } finally {
      this.leave()
    }
  }

  /** For work of several calls. Rejects with the signal's reason while it waits; otherwise call `leave` once. */
  enter(signal?: AbortSignal): Promise<void> | undefined {
    signal?.throwIfAborted()
    if (this.#running === this.#width) return this.#waiters.wait(signal)
    this.#running += 1
    return undefined
  }

  /** Passes the place to the next waiter directly, so that no newcomer can take it. */
  leave(): void {
    if (!this.#waiters.releaseFirst()) this.#running -= 1
  }

  /** Fails all work that has not begun. */
  refuse(error: unknown): void {
    this.#waiters.fail(error)
  }
}

export class KeyedQueue<Key> {
  readonly #width: number
  readonly #queues = new ChurnMap<Key, Queue>()

  constructor(width = 1) {
    this.#width = width
  }

  /** As `Queue.run`. */
  async run<T>(key: Key, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(key) ?? new Queue(this.#width)
    this.#queues.set(key, queue)
    try {
      return await queue.run(signal, work)
    } finally {
      // Others may have finished this queue and begun another.
      if (queue.isIdle && this.#queues.get(key) === queue) this.#queues.delete(key)
    }
  }
}
