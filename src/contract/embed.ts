import type { EmbedInput } from './engine.ts'

/** Texts or tokens to embed, in canonical form. */
export type EmbedRequest = {
  /** The model as the caller named it: an id or an alias. */
  readonly model: string
  readonly inputs: readonly EmbedInput[]
  /** The length of each vector, in numbers; absent: the model's own. */
  readonly dimensions?: number
}

/** One vector of length 1 per input, in their order. `model` is the id of the model that made them. */
export type EmbedResult = {
  readonly model: string
  readonly vectors: readonly Float32Array[]
  readonly inputTokens: number
}
