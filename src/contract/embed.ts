import type { CallerKeys } from './caller-keys.ts'
import type { EmbedInput } from './engine.ts'

/** Texts or tokens to embed, in canonical form. */
export type EmbedRequest = {
  /** The model as the caller named it: an id or an alias. */
  readonly model: string
  readonly inputs: readonly EmbedInput[]
  /** Numbers per vector; absent: the model's default. */
  readonly dimensions?: number
  /** As in a `GenerationRequest`. */
  readonly callerKeys?: CallerKeys
}

/** One normalized vector per input, in order. `model` is the id of the model that served. */
export type EmbedResult = {
  readonly model: string
  readonly vectors: readonly Float32Array[]
  readonly inputTokens: number
}
