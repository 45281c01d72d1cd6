import { type CataloguedModel, findCatalogued } from './catalogue.ts'
import { fitsMemory } from './memory.ts'

/** A suggested model of the catalogue, and what it takes to run it. */
export type SuggestedModel = CataloguedModel & {
  /** The bytes that it reads for each token: only a part of a model with experts. */
  readonly readBytes: number
  /** Keys and values of one token. */
  readonly tokenBytes: number
}

/** The least able first. */
const suggestedModels: readonly SuggestedModel[] = [
  suggest('qwen3:1.7b', { tokenBytes: 114_688 }),
  suggest('qwen3:4b', { tokenBytes: 147_456 }),
  suggest('qwen3:8b', { tokenBytes: 147_456 }),
  suggest('qwen3:14b', { tokenBytes: 163_840 }),
  suggest('qwen3-coder:30b', { tokenBytes: 98_304, readBytes: 2.2e9 }),
  suggest('qwen3:32b', { tokenBytes: 262_144 }),
]

function suggest(name: string, size: { readonly tokenBytes: number; readonly readBytes?: number }): SuggestedModel {
  const model = findCatalogued(name)
  if (model === undefined) throw new Error(`${name} is not in the catalogue`)
  return { readBytes: model.sizeBytes, ...model, ...size }
}

/** The machine that runs a model; `gpuBytes`: the memory of its GPU, if any. */
export type Machine = { readonly memoryBytes: number; readonly cores: number; readonly gpuBytes?: number | undefined }

/** Each token reads the whole model, and a core reads about ten times this in a second. */
const pleasantBytesPerCore = 0.7e9
/** The share of a GPU that weights and context may fill. */
const shareOfGpu = 0.9

/**
 * The models that a machine runs at reading speed, the most able first: those that fit its GPU, or otherwise those that its memory holds
 * and its cores read quickly. `tokens`: the context that is needed.
 */
export function suggestModels({ memoryBytes, cores, gpuBytes = 0 }: Machine, tokens = 0): SuggestedModel[] {
  const fits = ({ sizeBytes, readBytes, trained, tokenBytes }: SuggestedModel) => {
    // Beyond that, a smaller quantization of the repository would be taken.
    if (trained < tokens || !fitsMemory(sizeBytes, memoryBytes)) return false
    const contextBytes = tokens * tokenBytes
    if (sizeBytes + contextBytes <= gpuBytes * shareOfGpu) return true
    return fitsMemory(sizeBytes + contextBytes / 2, memoryBytes) && readBytes <= cores * pleasantBytesPerCore
  }
  return suggestedModels.filter(fits).reverse()
}
