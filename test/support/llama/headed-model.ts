import { addHeads, type HeadOptions } from './add-heads.ts'
import { readGguf } from './gguf-reader.ts'
import { encodeGguf } from './gguf-writer.ts'
import { encodeSmallModel, type SmallArchitecture } from './random-architectures.ts'

/** Of these architectures llama.cpp computes heads, with attention and with states that can be taken back. */
export const headedArchitectures = ['deepseek2', 'qwen35'] as const satisfies readonly SmallArchitecture[]

/** Some of the heads' guesses are right. */
const trunk = 0.03

/** The file of a small random model with layers that predict further tokens. */
export function encodeHeadedModel(architecture: SmallArchitecture, options: HeadOptions = {}): Buffer {
  const { metadata, tensors } = addHeads(readGguf(encodeSmallModel(architecture, { width: 32 })), { trunk, ...options })
  return encodeGguf(metadata, tensors)
}
