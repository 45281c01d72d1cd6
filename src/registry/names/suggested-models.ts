import { fitsMemory } from './memory.ts'

/** A well-known model of one file that Dragoman can fetch, with its approximate size. */
type SuggestedModel = { readonly name: string; readonly source: string; readonly sizeBytes: number }

const qwen3 = (size: string, sizeBytes: number): SuggestedModel => ({
  name: `Qwen3 ${size}`,
  source: `hf:bartowski/Qwen_Qwen3-${size}-GGUF/Qwen_Qwen3-${size}-Q4_K_M.gguf`,
  sizeBytes,
})

/** The smallest first. */
const suggestedModels: readonly SuggestedModel[] = [
  qwen3('1.7B', 1.3e9),
  qwen3('4B', 2.5e9),
  qwen3('8B', 5e9),
  qwen3('14B', 9e9),
  qwen3('32B', 19.8e9),
]

/** Each token reads the whole model, and a core reads about ten times this in a second. A GPU is not looked for: a server may have none. */
const pleasantBytesPerCore = 0.7e9

/** The largest of these models that fits into a machine's memory and answers at reading speed on its cores; undefined when none does. */
export function suggestModel(memoryBytes: number, cores: number): SuggestedModel | undefined {
  return suggestedModels.findLast(
    ({ sizeBytes }) => fitsMemory(sizeBytes, memoryBytes) && sizeBytes <= cores * pleasantBytesPerCore,
  )
}
