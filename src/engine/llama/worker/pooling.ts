import { type LlamaModel, readGgufFileInfo } from 'node-llama-cpp'
import { messageOf } from '../../../contract/errors.ts'

/** How the vectors of a text's tokens become one: llama.cpp's `enum llama_pooling_type`, without its `none`. */
export type Pooling = 'mean' | 'cls' | 'last' | 'rank'

const poolingTypes: readonly (Pooling | undefined)[] = [undefined, 'mean', 'cls', 'last', 'rank']
const meanType = poolingTypes.indexOf('mean')
/** They would be read for nothing, and are most of what is in front of the tensors. */
const longKeys = ['tokens', 'merges', 'token_type', 'scores'].map((key) => `tokenizer.ggml.${key}`)

/** What llama.cpp would not pool is pooled by mean: for vectors of a whole text, a kind of pooling must be set at load. */
export async function poolingOverrides(modelPath: string): Promise<Record<string, { pooling_type: number }>> {
  const options = { readTensorInfo: false, logWarnings: false, sourceType: 'filesystem', ignoreKeys: longKeys } as const
  const { metadata, architectureMetadata } = await readGgufFileInfo(modelPath, options).catch((cause: unknown) => {
    throw new Error(`${modelPath} is damaged, or no GGUF file that can be read (${messageOf(cause)}); fetch it again`, { cause })
  })
  const declared = readPooling(architectureMetadata)
  return declared === undefined ? { [metadata.general.architecture]: { pooling_type: meanType } } : {}
}

/** What the model's file says, or was overridden to say. */
export function poolingOf({ fileInfo }: LlamaModel): Pooling {
  return readPooling(fileInfo.architectureMetadata) ?? 'mean'
}

/**
 * Whether a text can be computed in steps: each token sees only those before it. Where tokens see the whole text, it must be
 * one step.
 */
export function isCausal({ fileInfo, fileInsights }: LlamaModel): boolean {
  const { attention } = fileInfo.architectureMetadata as { attention?: { causal?: unknown } }
  return attention?.causal !== false && !fileInsights.hasEncoder && !isEncoder(fileInfo.metadata.general.architecture)
}

/** Architectures that llama.cpp treats as encoders whatever the file says. */
function isEncoder(architecture: string): boolean {
  return /bert|^t5encoder$|^eurobert$|^gemma-embedding$/.test(architecture)
}

function readPooling(metadata: unknown): Pooling | undefined {
  const { pooling_type: type } = metadata as { readonly pooling_type?: unknown }
  return typeof type === 'number' ? poolingTypes[type] : undefined
}
