import { mostPointBytes, mostPoints } from '../../contract/engine.ts'
import type { GgufFacts, Layer } from './gguf-facts.ts'

/** Bytes per value of the number formats of cached keys and values. */
const cacheBytes: Readonly<Record<string, number>> = {
  f32: 4,
  f16: 2,
  bf16: 2,
  q8_0: 34 / 32,
  q5_1: 24 / 32,
  q5_0: 22 / 32,
  q4_1: 20 / 32,
  q4_0: 18 / 32,
  iq4_nl: 18 / 32,
}
const defaultCacheBytes = 2

/** How a model is loaded, as far as its memory depends on it. */
export type MemorySettings = {
  readonly contextLength: number
  readonly slots: number
  readonly batchSize?: number | undefined
  readonly flashAttention: boolean
  readonly cacheTypeK?: string | undefined
  readonly cacheTypeV?: string | undefined
  /** The layers that are computed: besides or without the others, those that predict further tokens; absent: the others. */
  readonly heads?: 'too' | 'only'
  /** The most tokens of a draft that recurrent layers may have to take back, for each of which they keep a state. */
  readonly rollback?: number
}

/** The parts of a model's memory that its file and its settings decide. */
type MemoryEstimate = {
  /** Keys and values of all slots. */
  readonly contextBytes: number
  /** The checkpoints that slots keep, for recurrent layers and sliding windows. */
  readonly pointBytes: number
  /** The buffers of one step. */
  readonly workBytes: number
}

/** llama.cpp's default. */
const defaultBatchSize = 512
/** llama.cpp allocates the cells of a context in steps. */
const cellStep = 256
const floatBytes = 4
/** Results that a step keeps for each token, besides its logits, in multiples of the embedding. */
const keptPerToken = 8

/** The memory that llama.cpp allocates for a context, besides the weights. */
export function estimateMemory(facts: GgufFacts, settings: MemorySettings): MemoryEstimate {
  const { contextLength, slots, batchSize = defaultBatchSize, flashAttention, heads, rollback = 0 } = settings
  const { headLayers, vocabularySize, embeddingLength, headCount } = facts
  const layers = heads === 'only' ? [] : facts.layers
  const batch = Math.min(batchSize, contextLength * slots)
  const cells = roundUp(contextLength)
  const bytesOf = (kept: readonly Layer[]) =>
    slots * kept.reduce((sum, layer) => sum + layerBytes(layer, { cells, batch, settings }), 0)
  const states = layers.filter(({ type }) => type === 'recurrent')
  const contextBytes = bytesOf(layers) + rollback * bytesOf(states) + (heads === undefined ? 0 : bytesOf(headLayers))
  const pointBytes = Math.min(mostPointBytes, mostPoints * bytesOf(layers.filter(forgets)))
  // Logits and attention are not computed at the same time: the larger one counts.
  const logits = vocabularySize * batch
  const attention = flashAttention ? cells * batch : (headCount + 1) * cells * batch
  const workBytes = floatBytes * (Math.max(logits, attention) + keptPerToken * embeddingLength * batch)
  const contexts = heads === 'too' ? 2 : 1
  return { contextBytes: Math.ceil(contextBytes), pointBytes: Math.ceil(pointBytes), workBytes: contexts * workBytes }
}

function forgets(layer: Layer): boolean {
  return layer.type === 'recurrent' || layer.window !== undefined
}

type Context = { readonly cells: number; readonly batch: number; readonly settings: MemorySettings }

/** The memory of one sequence in a layer. */
function layerBytes(layer: Layer, { cells, batch, settings }: Context): number {
  if (layer.type === 'recurrent') return layer.stateValues * floatBytes
  const { cacheTypeK = 'f16', cacheTypeV = 'f16' } = settings
  const { keyValues, valueValues, window } = layer
  const kept = window === undefined ? cells : Math.min(cells, roundUp(window + batch))
  return kept * (keyValues * bytesPerValue(cacheTypeK) + valueValues * bytesPerValue(cacheTypeV))
}

function bytesPerValue(type: string): number {
  return cacheBytes[type] ?? defaultCacheBytes
}

function roundUp(cells: number): number {
  return Math.ceil(cells / cellStep) * cellStep
}
