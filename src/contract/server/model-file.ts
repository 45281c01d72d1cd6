import type { ModelWanted } from './lifecycle.ts'

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

/** The settings of a load that its memory depends on; absent ones are those of the model. */
export type PlannedLoad = { readonly contextLength?: number; readonly slots?: number; readonly gpuLayers?: number }

/** The memory that a load takes, with the projector, the draft model and the adapters that are known. */
export type LoadEstimate = {
  /** As the configuration names it. */
  readonly source: string
  /** All files together. */
  readonly sizeBytes: number
  readonly slots: number
  /** Absent, with what follows, where the header of the file cannot be read. */
  readonly contextLength?: number
  readonly trainedContextLength?: number
  readonly bytes?: number
  /** The part of it on the GPU, for a number of layers. */
  readonly gpuBytes?: number
  readonly layerCount?: number
  /** The memory for all models. */
  readonly budgetBytes: number
  /** The longest contexts in it, by the number of slots. */
  readonly longest: readonly { readonly slots: number; readonly contextLength: number }[]
}

/** The same, with the place of the model's file. */
export type FilePlan = LoadEstimate & {
  readonly path: string
  /** Dragoman fetched it, and may delete it. */
  readonly isFetched: boolean
}

export interface ModelFiles {
  /** Undefined for a model without a file here. */
  describe(id: string): Promise<ModelFileFacts | undefined>
  /** Undefined for a model without a file here. */
  plan(id: string, load: PlannedLoad): Promise<FilePlan | undefined>
  /** The estimate for a model that may not be here: its header is read where it comes from. Rejects as `Lifecycle.find`. */
  estimate(wanted: ModelWanted, signal: AbortSignal): Promise<LoadEstimate>
}
