import type { Principal } from './principal.ts'

/** The estimated cost of a request in tokens; absent where unknown. */
type RequestCost = { readonly inputTokens?: number; readonly maxOutputTokens?: number }

/** The current load of a model. */
export type SchedulerLoad = {
  /** Requests that run at once. */
  readonly slots: number
  readonly busy: number
  /** Requests that have entered and do not hold a slot. */
  readonly queued: number
}

/** Decides which request runs when, on one model. */
export interface Scheduler {
  readonly load: SchedulerLoad
  /** Throws `queue-full`, before any work for the request. */
  enter(request: { readonly id: string; readonly principal: Principal }): Ticket
}

/** A request's entry in a model's queue, from its arrival to its end. */
export interface Ticket {
  /** Resolves when the model is ready, loading it if necessary. Rejects with `model-unavailable` or the signal's reason. */
  ready(signal: AbortSignal): Promise<void>
  /** Resolves when the request holds a slot. Rejects with the signal's reason when that comes first; the next request gets the slot. */
  slot(cost: RequestCost, signal: AbortSignal): Promise<void>
  /** Releases the slot between steps, but keeps the ticket. The engine must have stopped. Idempotent. */
  release(): void
  /** Reports the cost of a step. */
  charge(tokens: number): void
  /** Gives up the ticket and its slot. The engine must have stopped. Idempotent. */
  leave(): void
}
