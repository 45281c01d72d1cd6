import type { Engine } from './engine.ts'
import type { JsonObject, ReasoningOptions } from './request.ts'
import type { Resident } from './residency.ts'
import type { Scheduler } from './scheduler.ts'

/** A version of a model, under a name of its own beside the model's. */
export type ModelVersion = {
  readonly name: string
  /** Of the conversations. */
  readonly percent: number
  /** The id of the model that it is. */
  readonly id: string
}

/** How long the steps of a request may take, in milliseconds; absent: as long as they take. */
export type TimeLimits = {
  /** Waiting for a slot of the model. */
  readonly queueMs?: number
  /** From the slot to the first token; of what generates nothing, to its end. */
  readonly firstTokenMs?: number
  /** Between two tokens. */
  readonly stallMs?: number
  /** From the first token to the end. What was generated until then is the reply. */
  readonly generationMs?: number
}

/** What conversations with a model are rendered with, as its operator has chosen. */
export type ChatDefaults = {
  /** Where a request says nothing. */
  readonly reasoning: Pick<ReasoningOptions, 'enabled' | 'effort' | 'preserve'>
  /** Template variables where a request has none of this name. */
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
  /** Its part in this machine's memory; absent for a model that needs none here. */
  readonly resident?: Resident
  /** Absent: none. */
  readonly limits?: TimeLimits
  /** Absent: conversations are rendered as requests say. */
  readonly chat?: ChatDefaults
  /** Names of models that serve in its place when it cannot; absent: none. */
  readonly fallback?: readonly string[]
  /** Models that serve a part of its conversations; the rest is its own. Absent: all are. */
  readonly versions?: readonly ModelVersion[]
  /** Requests are copied, and the replies discarded; absent: not. */
  readonly mirror?: {
    /** A version, or the name of another model. */
    readonly to: string
    /** Of its conversations. */
    readonly percent: number
  }
}

/** Loads a model, and unloads others if it must. Rejects with `model-unavailable`, or the signal's reason. */
export function loadModel({ engine, resident }: Pick<ServedModel, 'engine' | 'resident'>, signal: AbortSignal): Promise<void> {
  return resident?.load(signal) ?? engine.ensureReady(signal) ?? Promise.resolve()
}
