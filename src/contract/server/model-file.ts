/** The facts in a model's file, read without loading it. */
export type ModelFileFacts = {
  /** The size of all parts. */
  readonly sizeBytes: number
  readonly modifiedAtMs: number
  /** Absent if it was never computed. */
  readonly sha256?: string
  /** Such as `Q4_K_M`. */
  readonly quantization?: string
  readonly architecture?: string
  readonly parameterCount?: number
  /** Its size in its makers' terms, such as `8B`. */
  readonly sizeLabel?: string
  readonly trainedContextLength?: number
  /** The context of a request once the model is loaded, as far as the configuration decides it. */
  readonly contextLength?: number
  readonly embeddingLength?: number
  readonly layerCount?: number
  readonly license?: string
  /** The Jinja source in it. */
  readonly chatTemplate?: string
  /** It names tokens for a gap between two texts. */
  readonly infills?: true
  /** It was trained to make vectors, and writes no text. */
  readonly onlyEmbeds?: true
}

export interface ModelFiles {
  /** Undefined for a model without a file here. */
  describe(id: string): Promise<ModelFileFacts | undefined>
}
