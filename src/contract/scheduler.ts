import type { Principal } from './principal.ts'

/** What a request is likely to cost, in tokens; absent where it is not known. */
export type RequestCost = { readonly inputTokens?: number; readonly maxOutputTokens?: number }

/** How busy a model is at this moment. */
export type SchedulerLoad = {
  /** Requests that run at once. */
  readonly slots: number
  readonly busy: number
  /** Requests that have entered and hold no slot. */
  readonly queued: number
}

/** Decides which request runs when, on one model. */
export interface Scheduler {
  readonly load: SchedulerLoad
  /** Throws `queue-full`, before any work is done for the request. */
  enter(request: { readonly id: string; readonly principal: Principal }): Ticket
}

/** A request's place at a model, from its arrival to its end. */
export interface Ticket {
  /** Resolves when the model is ready, loading it if need be. Rejects with `model-unavailable` or the signal's reason. */
  ready(signal: AbortSignal): Promise<void>
  /** Resolves when a slot is this request's. Rejects with the signal's reason when it is aborted first; the turn passes on. */
  slot(cost: RequestCost, signal: AbortSignal): Promise<void>
  /** Gives the slot back and keeps the place, between the steps of one request. The engine must have stopped. Idempotent. */
  release(): void
  /** Tells what a step has cost. */
  charge(tokens: number): void
  /** Gives up place and slot. The engine must have stopped. Idempotent. */
  leave(): void
}
