import type { EngineEvent } from './event.ts'
import type { OutputFormat } from './parse/output-format.ts'
import type { GenerationRequest } from './request.ts'

/** Where an engine's model stands. Only the engine's own supervisor changes it; everyone else asks, never acts on it. */
export type EngineState =
  | { readonly type: 'stopped' }
  | { readonly type: 'starting' }
  | { readonly type: 'loading'; readonly progress: number }
  | { readonly type: 'ready' }
  | { readonly type: 'draining' }
  /** `retryAtMs` (epoch) is when the supervisor tries again by itself; absent when only a request will make it try. */
  | { readonly type: 'failed'; readonly reason: string; readonly retryAtMs?: number }

/** A request that was checked against the model (rendered, counted, fits) and holds nothing yet. */
export type PreparedGeneration = {
  /** Absent when the engine cannot count before it runs. */
  readonly inputTokens?: number
  /** How to read the raw text of this run; absent when it is plain text, or when the engine yields no raw text. */
  readonly outputFormat?: OutputFormat
  /**
   * How the request's `output` constraint is kept: `full`, by a grammar that is exactly it; `partial`, by a grammar that
   * lets through more than it; `validated`, by checking what came. Absent when the request has none.
   */
  readonly structured?: 'full' | 'partial' | 'validated'
  /**
   * Generates. Call it at most once, and only while holding a slot of the model: when the iteration has ended, however it
   * ended, the engine has stopped working on the request.
   */
  run(signal: AbortSignal): AsyncIterable<EngineEvent>
}

/** Facts about a loaded model, as far as the engine knows them. */
export type EngineFacts = {
  /** Tokens that one request may use, prompt and output together. */
  readonly contextLength?: number
  /** Token ids are below this. */
  readonly vocabularySize?: number
}

/** Anything that generates tokens. */
export interface Engine {
  readonly state: EngineState
  readonly facts: EngineFacts
  /** Resolves when the model is ready; loads it if need be. Rejects with `model-unavailable` when it cannot be. */
  ensureReady(signal: AbortSignal): Promise<void>
  /**
   * Checks the request against the model without taking a slot. Waits for the model; rejects with
   * `context-length-exceeded`, `template-failed`, `unsupported-field` or `model-unavailable`.
   */
  prepare(request: GenerationRequest, signal: AbortSignal): Promise<PreparedGeneration>
  /** Ends what runs, then everything the engine owns. Resolves when its processes are gone; `ensureReady` starts it again. */
  close(): Promise<void>
}
