import type { Principal } from './principal.ts'

/** The tokens that a request may cost, over all of its prompts and choices; absent where unknown. */
export type RequestCost = { readonly inputTokens?: number; readonly maxOutputTokens?: number }

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
  /**
   * Throws `queue-full` or `rate-limit-exceeded`, before any work for the request. `free`: it asks about the model, such as for its
   * tokens, and counts against no limit of its caller.
   */
  enter(request: { readonly id: string; readonly principal: Principal; readonly signal: AbortSignal }, use?: 'free'): Ticket
}

/** A request's entry in a model's queue, from its arrival to its end. */
export interface Ticket {
  /** Resolves when the model is ready, loading it if necessary. Rejects with `model-unavailable` or the signal's reason. */
  ready(signal: AbortSignal): Promise<void>
  /** Resolves when the request holds a slot. Rejects with the signal's reason when that comes first; the next request gets the slot. */
  slot(cost: RequestCost, signal: AbortSignal): Promise<void>
  /** Releases the slot between steps, but keeps the ticket. The engine must have stopped. Idempotent. */
  release(): void
  /** Reports the tokens that a step has cost. */
  charge(tokens: number): void
  /** Gives up the ticket and its slot. The engine must have stopped. Idempotent. */
  leave(): void
}
