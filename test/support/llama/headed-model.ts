import { addHeads, type HeadOptions } from './add-heads.ts'
import { readGguf } from './gguf-reader.ts'
import { encodeGguf } from './gguf-writer.ts'
import { encodeSmallModel, type SmallArchitecture } from './random-architectures.ts'

/** Of these architectures llama.cpp computes heads: with attention, with states that can be taken back, and several. */
export const headedArchitectures = [
  'deepseek2',
  'qwen35',
  'mimo2',
  'step35',
  'hy_v3',
] as const satisfies readonly SmallArchitecture[]

const withSeveral: ReadonlySet<string> = new Set(['mimo2', 'step35', 'hy_v3'])

/** Some of the heads' guesses are right. */
const trunk = 0.03

/** The file of a small random model with layers that predict further tokens. */
export function encodeHeadedModel(architecture: SmallArchitecture, options: HeadOptions = {}): Buffer {
  const { metadata, tensors } = addHeads(readGguf(encodeSmallModel(architecture, { width: 32, window: 64 })), {
    trunk,
    heads: withSeveral.has(architecture) ? 2 : 1,
    ...options,
  })
  return encodeGguf(metadata, tensors)
}

/** The same model without those layers. */
export function encodeTrunk(architecture: SmallArchitecture): Buffer {
  return encodeHeadedModel(architecture, { heads: 0 })
}
