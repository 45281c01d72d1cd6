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

  async ready(): Promise<void> {
    const fromMs = this.#now()
    await this.#ticket.ready(this.#signal)
    this.#totalMs += elapsed(fromMs, this.#now())
  }
}
