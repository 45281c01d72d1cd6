import { type LlamaModel, readGgufFileInfo } from 'node-llama-cpp'
import { messageOf } from '../../../../contract/errors.ts'

/** How the vectors of a text's tokens become one: llama.cpp's `enum llama_pooling_type`, without its `none`. */
export type Pooling = 'mean' | 'cls' | 'last' | 'rank'

const poolingTypes: readonly (Pooling | undefined)[] = [undefined, 'mean', 'cls', 'last', 'rank']
const meanType = poolingTypes.indexOf('mean')
/** Not needed, and most of the metadata. */
const longKeys = ['tokens', 'merges', 'token_type', 'scores'].map((key) => `tokenizer.ggml.${key}`)

/** Mean pooling for models without a pooling type: vectors of a complete text need one when the model is loaded. */
export async function poolingOverrides(modelPath: string): Promise<Record<string, { pooling_type: number }>> {
  const options = { readTensorInfo: false, logWarnings: false, sourceType: 'filesystem', ignoreKeys: longKeys } as const
  const { metadata, architectureMetadata } = await readGgufFileInfo(modelPath, options).catch((cause: unknown) => {
    throw new Error(`${modelPath} is damaged or not a readable GGUF file (${messageOf(cause)}); fetch it again`, { cause })
  })
  const declared = readPooling(architectureMetadata)
  return declared === undefined ? { [metadata.general.architecture]: { pooling_type: meanType } } : {}
}

/** The pooling of the model's file, or its override. */
export function poolingOf({ fileInfo }: LlamaModel): Pooling {
  return readPooling(fileInfo.architectureMetadata) ?? 'mean'
}

/**
 * Whether a text can be computed in steps, because each token sees only those before it. A text whose tokens see all of it must be one
 * step.
 */
export function isCausal({ fileInfo, fileInsights }: LlamaModel): boolean {
  const { attention } = fileInfo.architectureMetadata as { attention?: { causal?: unknown } }
  return attention?.causal !== false && !fileInsights.hasEncoder && !isEncoder(fileInfo.metadata.general.architecture)
}

/** Architectures that llama.cpp always treats as encoders. */
function isEncoder(architecture: string): boolean {
  return /bert|^t5encoder$|^eurobert$|^gemma-embedding$/.test(architecture)
}

function readPooling(metadata: unknown): Pooling | undefined {
  const { pooling_type: type } = metadata as { readonly pooling_type?: unknown }
  return typeof type === 'number' ? poolingTypes[type] : undefined
}
