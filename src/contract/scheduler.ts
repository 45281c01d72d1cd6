import type { Principal } from './principal.ts'

/** The tokens that a request may cost, over all of its prompts and choices; absent where unknown. */
export type RequestCost = { readonly inputTokens?: number; readonly maxOutputTokens?: number }

/** `background` requests give way to `interactive` ones, but never wait for ever. */
export type Lane = 'interactive' | 'background'

/** The position of a waiting request: 1 is next. The wait is extrapolated from earlier ones; absent until there were any. */
export type QueuePosition = { readonly position: number; readonly estimatedWaitMs?: number }

/** The current load of a model. */
export type SchedulerLoad = {
  /** Requests that may run concurrently. */
  readonly slots: number
  /** Background requests begin only while fewer than this run; absent: `slots`. */
  readonly backgroundSlots?: number
  readonly busy: number
  /** Requests that have entered but hold no slot. */
  readonly queued: number
  readonly lanes: Readonly<Record<Lane, number>>
  /** Requests refused since the start because the queue was full. */
  readonly refused: number
}

/** The part of a request that schedulers read; a `RequestContext` has all of it. */
export type SchedulerRequest = {
  /** Also the id of the reply. */
  readonly id: string
  readonly principal: Principal
  /** Aborted to end the request, with an `AppError` as reason. */
  readonly signal: AbortSignal
  /** The signal of the whole request, if `signal` covers one attempt: all attempts count as one. Absent: `signal`. */
  readonly whole?: AbortSignal
  /** The client's name for its session, which several conversations may share; requests of one caller take turns by session. */
  readonly session?: string
  /** Absent: `interactive`. */
  readonly lane?: Lane
  /** Called once when an interactive request waits for the slot that this one holds; absent: it keeps its slot. */
  readonly onWanted?: () => void
  readonly onQueued?: OnQueued
  readonly onLoading?: OnLoading
}

/** Why a request waits for its model: memory that others use, the model's files, or its load, from 0 to 1. */
export type LoadPlace =
  | { readonly state: 'waiting-for-memory' | 'starting' }
  | { readonly state: 'loading'; readonly progress: number }

/** Called when a request has to wait for its model, with a function that returns what it waits for; undefined once it no longer waits. */
export type OnLoading = (place: () => LoadPlace | undefined) => void

/** Called when a request has to wait for a slot, with a function that returns its position; undefined once it no longer waits. */
export type OnQueued = (place: () => QueuePosition | undefined) => void

/** The part of a process in the servers of a model, to which other processes send requests as well. */
export interface ServerShare {
  /** This process's part of these slots, for background requests, while it runs this many interactive ones; at least 1. */
  slotsOf(serverSlots: number, interactive: number): number
  /** Replaces what is called when the part may have become smaller. */
  onLess(listener: () => void): void
}

/** Decides which request runs when, on one model. */
export interface Scheduler {
  readonly load: SchedulerLoad
  /**
   * Throws `queue-full` or `rate-limit-exceeded`, before any work for the request. `free`: a question about the model, such as for its
   * tokens, which counts against no limit. `part`: a part of a request beside its main ticket, which has had a slot and carries the limits.
   */
  enter(request: SchedulerRequest, use?: 'free' | 'part'): Ticket
  /** Resolves when no request has a ticket; rejects with the signal's reason. */
  whenIdle(signal: AbortSignal): Promise<void>
}

/** A request's entry in a model's queue, from its arrival to its end. */
export interface Ticket {
  /** Resolves when the model is ready, loading it if necessary. Undefined: it is ready. Rejects with `model-unavailable` or the signal's reason. */
  ready(signal: AbortSignal): Promise<void> | undefined
  /**
   * Resolves when the request holds a slot; undefined if it got one immediately. Rejects with the signal's reason if that comes first, and
   * with `queue-full` if another caller with fewer requests took the place; the next request gets the slot.
   */
  slot(cost: RequestCost, signal: AbortSignal): Promise<void> | undefined
  /** Releases the slot between steps, but keeps the ticket. The engine must have stopped. Idempotent. */
  release(): void
  /** Reports the tokens that a step has used. */
  charge(tokens: number): void
  /** Gives up the ticket and its slot. The engine must have stopped. Idempotent. */
  leave(): void
}
