import { fitsMemory } from './memory.ts'

/**
 * A well-known repository, from which Dragoman takes the file that suits the machine, with approximate sizes of its Q4_K_M. It is not
 * looked up.
 */
export type SuggestedModel = {
  readonly name: string
  readonly source: string
  readonly sizeBytes: number
  /** What it reads for each token: less than all of it where it has experts. */
  readonly readBytes: number
  /** What it was trained for, in tokens. */
  readonly trained: number
  /** Keys and values of one token. */
  readonly tokenBytes: number
}

type Size = Pick<SuggestedModel, 'sizeBytes' | 'tokenBytes'>

const qwen3 = (size: string, { sizeBytes, tokenBytes }: Size): SuggestedModel => ({
  name: `Qwen3 ${size}`,
  source: `hf:bartowski/Qwen_Qwen3-${size}-GGUF`,
  sizeBytes,
  readBytes: sizeBytes,
  trained: 40_960,
  tokenBytes,
})

/** The least able first. */
const suggestedModels: readonly SuggestedModel[] = [
  qwen3('1.7B', { sizeBytes: 1.3e9, tokenBytes: 114_688 }),
  qwen3('4B', { sizeBytes: 2.5e9, tokenBytes: 147_456 }),
  qwen3('8B', { sizeBytes: 5e9, tokenBytes: 147_456 }),
  qwen3('14B', { sizeBytes: 9e9, tokenBytes: 163_840 }),
  {
    name: 'Qwen3 Coder 30B A3B',
    source: 'hf:unsloth/Qwen3-Coder-30B-A3B-Instruct-GGUF',
    sizeBytes: 18.6e9,
    readBytes: 2.2e9,
    trained: 262_144,
    tokenBytes: 98_304,
  },
  qwen3('32B', { sizeBytes: 19.8e9, tokenBytes: 262_144 }),
]

/** What a model runs on; `gpuBytes`: the memory of the GPU, if there is one. */
export type Machine = { readonly memoryBytes: number; readonly cores: number; readonly gpuBytes?: number | undefined }

/** Each token reads the whole model, and a core reads about ten times this in a second. */
const pleasantBytesPerCore = 0.7e9
/** Weights and context may fill so much of a GPU. */
const shareOfGpu = 0.9

/**
 * The models that a machine runs at reading speed, the most able first: of those that its memory holds, what fits its GPU, or else what its
 * cores read quickly. `tokens`: the context that is needed.
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
