import type { Engine } from './engine.ts'
import type { Scheduler } from './scheduler.ts'

/**
 * The state of a model in memory. `starting`: its files are being found or fetched; `waiting`: for memory that others hold; `loaded`: its
 * memory is reserved, including while its process loads or restarts; `unloading`: its memory is being freed.
 */
export type ResidencyState = 'absent' | 'starting' | 'waiting' | 'loaded' | 'unloading'

export type ResidencyStatus = {
  readonly id: string
  readonly state: ResidencyState
  /** The memory that it holds or waits for, as estimated from its file; 0 before its first load. */
  readonly bytes: number
  /** When `state` changed, in milliseconds since the epoch; so is `lastUsedMs`. */
  readonly sinceMs: number
  readonly lastUsedMs: number
  /** When it will be unloaded without a request, while it is loaded; absent: never. */
  readonly expiresAtMs?: number
  /** Requests that use it now: it is not unloaded before they have ended. */
  readonly busy: number
  /** Requests that wait until it is in memory. */
  readonly waiting: number
}

/** A model that needs this machine's memory. */
export type ResidentOptions = {
  readonly id: string
  readonly engine: Engine
  /** Unloaded for others only if unloading all others is not enough. */
  readonly isPinned: boolean
  /** Unloaded after being idle for this long, `Infinity` for never; absent: as the memory's other models. */
  readonly idleTtlMs?: number
}

/** A model's part in the memory of this machine. */
export interface Resident {
  readonly status: ResidencyStatus
  /** It was unloaded or left for later since the server started, so requests load it. */
  readonly comesAndGoes: boolean
  /**
   * The longest context that fits the whole budget, in tokens of each slot, with its slots or another number of them; undefined before its
   * first load, and if unknown.
   */
  longestContext(slots?: number): number | undefined
  /** Puts a gate in front of a scheduler: its tickets are ready when the model is loaded, and keep the model loaded while they use it. */
  gate(scheduler: Scheduler): Scheduler
  /** Loads the model, unloading others as a request for it would. Rejects with `model-unavailable`, or the signal's reason. */
  load(signal: AbortSignal): Promise<void>
  /** As `load`, but into free memory only. False: there is too little; the first request for the model loads it. */
  preload(signal: AbortSignal): Promise<boolean>
  /** Ends a load before the model is ready; requests that wait for it are refused. False: the model is not being loaded. */
  cancelLoad(): boolean
  /**
   * Unloads the model when the requests that use it have ended. After `drainMs`, `force` stops them; otherwise the model stays, and this
   * rejects with `request-conflict`. Requests that arrive meanwhile wait, and load it again. Ends a load in progress.
   */
  unload(options: { readonly drainMs: number; readonly force: boolean }): Promise<void>
  /**
   * Unloads the model after being idle for this long (0: as soon as no request uses it; `Infinity`: never) instead of as configured, until
   * it is unloaded.
   */
  keepFor(idleMs: number): void
  /** Forgets the model: its loads no longer reserve memory, and requests that wait for it are refused. */
  remove(): void
}

/**
 * The models that share this machine's memory: which are loaded, which one has to go, and who waits. Models that need no memory here, such
 * as remote ones, are not included.
 */
export interface Residency {
  /** Adds a model. Another model may have the same id, such as one that this one replaces. */
  add(model: ResidentOptions): Resident
  status(): readonly ResidencyStatus[]
  memory(): { readonly budgetBytes: number; readonly usedBytes: number }
}
