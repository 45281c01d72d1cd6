import type { Ticket } from '../contract/scheduler.ts'
import { elapsed } from './output-pipeline.ts'

/** Waits until a request's model is loaded, as often as it is wanted, and adds up how long that took. */
export class Loading {
  readonly #now: () => number
  readonly #ticket: Ticket
  readonly #signal: AbortSignal
  #totalMs = 0

  constructor(ticket: Ticket, { now, signal }: { now(): number; readonly signal: AbortSignal }) {
    this.#now = now
    this.#ticket = ticket
    this.#signal = signal
  }

  get totalMs(): number {
    return this.#totalMs
  }

  /** Undefined: it is loaded. */
  ready(): Promise<void> | undefined {
    const fromMs = this.#now()
    return this.#ticket.ready(this.#signal)?.then(() => {
      this.#totalMs += elapsed(fromMs, this.#now())
    })
  }
}
