import type { Context } from './library.ts'
import type { Model } from './model.ts'
import type { Turns } from './turns.ts'

/** `enum ggml_type`, of those that a cache may have. */
export const cacheTypes = { f32: 0, f16: 1, q4_0: 2, q4_1: 3, q5_0: 6, q5_1: 7, q8_0: 8, iq4_nl: 20, bf16: 30 } as const
/** `enum llama_pooling_type` */
export const poolingTypes = { none: 0, mean: 1, cls: 2, last: 3, rank: 4 } as const
/** `enum llama_flash_attn_type` */
const flashAttentionTypes = { auto: -1, off: 0, on: 1 }
/** `enum llama_rope_scaling_type` */
export const ropeScalings = { none: 0, linear: 1, yarn: 2 }
/** llama.cpp rounds the cells of a context up to a multiple of this. */
const cellPadding = 256
const usualBatchSize = 512
/** `LLAMA_CONTEXT_TYPE_MTP` of `enum llama_context_type` */
const ofHeads = 1

export type ContextOptions = {
  /** The tokens of each sequence, or with `vectors`, of all together. A range: the largest that fits in free memory now. */
  readonly contextSize: number | { readonly min: number; readonly max: number }
  readonly sequences: number
  readonly threads: number
  readonly batchSize?: number | undefined
  /** Absent: where the model and the device allow it. */
  readonly flashAttention?: boolean | undefined
  readonly cacheTypeK?: keyof typeof cacheTypes | undefined
  readonly cacheTypeV?: keyof typeof cacheTypes | undefined
  /** How positions are read; absent parts come from the file. */
  readonly rope?: Rope | undefined
  /** The context makes vectors, pooled as the file says unless `pooling` is set. */
  readonly vectors?: { readonly pooling?: keyof typeof poolingTypes | undefined } | undefined
  /** Recurrent layers keep their state before each of this many tokens at the end of a pass, where llama.cpp can. */
  readonly rollback?: number
  /** The context predicts further tokens from what this one has computed: with layers of the same model, or another model's. */
  readonly headsOf?: {
    readonly native: Context
    readonly isOfLayers: boolean
    /** Set where the memory of that context is read. */
    readonly turns?: Turns
  }
  readonly adapters?: readonly { readonly path: string; readonly scale: number }[] | undefined
}

type Rope = {
  readonly scaling?: keyof typeof ropeScalings
  /** How many times as long the context becomes. */
  readonly factor?: number
  /** The tokens that the model was trained for before it was extended; only with `yarn`. */
  readonly originalContext?: number
  readonly base?: number
}

/** llama.cpp's parameters of a context. */
export async function contextParams(model: Model, options: ContextOptions) {
  const { library, llama, gpuLayers, trainContextSize, fileInsights } = model
  const { threads, cacheTypeK = 'f16', cacheTypeV = 'f16', vectors } = options
  /** Sequences with memory of their own. */
  const sequences = vectors === undefined ? options.sequences : 1
  const flashAttention = options.flashAttention ?? (fileInsights.flashAttentionSupported ? 'auto' : false)
  const wished = await fileInsights.configurationResolver.resolveContextContextSize(options.contextSize, {
    // llama.cpp gives such a context no memory.
    batchSize: roundUp(options.batchSize ?? usualBatchSize, options.sequences),
    sequences,
    modelGpuLayers: gpuLayers,
    modelTrainContextSize: trainContextSize,
    flashAttention,
    kvCacheKeyType: cacheTypes[cacheTypeK],
    kvCacheValueType: cacheTypes[cacheTypeV],
    swaFullCache: false,
    llamaGpu: llama.gpu,
    isEmbeddingContext: vectors !== undefined,
  })
  const padded = padCells(Math.max(2, wished))
  // The padding costs nothing, so it is used.
  const contextSize = padded < trainContextSize ? padded : wished
  const { rollback = 0 } = options
  // llama.cpp computes the tokens that can be taken back in one part of a pass, and aborts where that is too small for them.
  const least = Math.max(options.sequences, rollback + 2)
  const batchSize = Math.max(options.batchSize ?? Math.min(contextSize * sequences, usualBatchSize), least)
  // A sliding window needs one cell more; some models require a multiple of their sequences (`[TAG_RESERVE_DIAG_DECAY]`).
  const cells = roundUp(batchSize + ((fileInsights.swaSize ?? 0) > 0 ? 1 : 0), options.sequences)
  const params = {
    ...library.contextDefaults(),
    n_ctx: padCells(contextSize * sequences),
    n_batch: cells,
    n_ubatch: cells,
    n_seq_max: options.sequences,
    kv_unified: vectors !== undefined,
    n_threads: threads,
    n_threads_batch: threads,
    flash_attn_type: flashAttentionTypes[flashAttention === 'auto' ? 'auto' : flashAttention ? 'on' : 'off'],
    type_k: cacheTypes[cacheTypeK],
    type_v: cacheTypes[cacheTypeV],
    swa_full: false,
    no_perf: true,
    n_rs_seq: rollback,
    ...(options.headsOf !== undefined && { ctx_other: options.headsOf.native }),
    ...(options.headsOf?.isOfLayers === true && { ctx_type: ofHeads }),
    ...ropeParams(options.rope),
    ...(vectors !== undefined && { embeddings: true }),
    ...(vectors?.pooling !== undefined && { pooling_type: poolingTypes[vectors.pooling] }),
  }
  return { params, contextSize, batchSize }
}

function ropeParams({ scaling, factor, originalContext, base }: Rope = {}) {
  return {
    ...(scaling !== undefined && { rope_scaling_type: ropeScalings[scaling] }),
    ...(factor !== undefined && { rope_freq_scale: 1 / factor }),
    ...(originalContext !== undefined && { yarn_orig_ctx: originalContext }),
    ...(base !== undefined && { rope_freq_base: base }),
  }
}

function padCells(cells: number): number {
  return roundUp(cells, cellPadding)
}

function roundUp(count: number, step: number): number {
  return Math.ceil(count / step) * step
}
