import type { Engine } from './engine.ts'
import type { JsonObject, ReasoningOptions } from './request.ts'
import type { Resident } from './residency.ts'
import type { Scheduler } from './scheduler.ts'

/** A version of a model, with a name of its own beside the model's. */
export type ModelVersion = {
  readonly name: string
  /** The share of conversations. */
  readonly percent: number
  /** The id of the model behind it. */
  readonly id: string
}

/** The time limits of a request's steps, in milliseconds; absent: none. */
export type TimeLimits = {
  /** Waiting for a slot of the model. */
  readonly queueMs?: number
  /** From the slot to the first token; for work that generates nothing, to its end. */
  readonly firstTokenMs?: number
  /** Between two tokens. */
  readonly stallMs?: number
  /** From the first token to the end. The output up to the limit is the reply. */
  readonly generationMs?: number
}

/** An operator's settings for rendering conversations with a model. */
export type ChatDefaults = {
  /** Reasoning options that a request leaves open. */
  readonly reasoning: Pick<ReasoningOptions, 'enabled' | 'effort' | 'preserve'>
  /** Template variables that a request does not set. */
  readonly variables: JsonObject
  /** Reasoning options that win over a request's; absent: none do. */
  readonly forcedReasoning?: ChatDefaults['reasoning']
  /** Template variables that win over a request's. */
  readonly forcedVariables: JsonObject
}

/** A model with the engine that runs it and the scheduler of its requests. */
export type ServedModel = {
  readonly id: string
  readonly engine: Engine
  readonly scheduler: Scheduler
  /** Its part in this machine's memory; absent if it needs none here. */
  readonly resident?: Resident
  /** Absent: none. */
  readonly limits?: TimeLimits
  /** Absent: conversations are rendered as requests say. */
  readonly chat?: ChatDefaults
  /** Names of models that serve in its place when it cannot; absent: none. */
  readonly fallback?: readonly string[]
  /** Models that serve a share of its conversations; the rest is its own. Absent: all are. */
  readonly versions?: readonly ModelVersion[]
  /** Copies requests to another model and discards the replies; absent: no copies. */
  readonly mirror?: {
    /** A version, or the name of another model. */
    readonly to: string
    /** The share of its conversations. */
    readonly percent: number
  }
}

/** Loads a model, unloading others if necessary. Rejects with `model-unavailable`, or the signal's reason. */
export function loadModel({ engine, resident }: Pick<ServedModel, 'engine' | 'resident'>, signal: AbortSignal): Promise<void> {
  return resident?.load(signal) ?? engine.ensureReady(signal) ?? Promise.resolve()
}
