/** What the file of a model says of it, without loading it. */
export type ModelFileFacts = {
  /** Of all parts. */
  readonly sizeBytes: number
  readonly modifiedAtMs: number
  /** Absent where nobody has computed it. */
  readonly sha256?: string
  /** Such as `Q4_K_M`. */
  readonly quantization?: string
  readonly architecture?: string
  readonly parameterCount?: number
  /** As its makers call its size, such as `8B`. */
  readonly sizeLabel?: string
  readonly trainedContextLength?: number
  /** What a request has when the model is loaded, as far as the configuration decides that. */
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
  readonly hasProjector?: true
}

/** The files of models, as far as they are on this machine. */
export interface ModelFiles {
  /** Undefined for a model without a file here. */
  describe(id: string): Promise<ModelFileFacts | undefined>
}
