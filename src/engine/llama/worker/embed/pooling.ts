import type { Model } from '../../binding/model.ts'

/** How the vectors of a text's tokens become one: llama.cpp's `enum llama_pooling_type`, without its `none`. */
export type Pooling = 'mean' | 'cls' | 'last' | 'rank'

const poolingTypes: readonly (Pooling | undefined)[] = [undefined, 'mean', 'cls', 'last', 'rank']

/** The pooling of the model's file; vectors of a complete text need one. */
export function poolingOf({ fileInfo }: Pick<Model, 'fileInfo'>): Pooling {
  return readPooling(fileInfo.architectureMetadata) ?? 'mean'
}

/**
 * Whether a text can be computed in steps, because each token sees only those before it. A text whose tokens see all of it must be one
 * step.
 */
export function isCausal({ fileInfo, fileInsights }: Pick<Model, 'fileInfo' | 'fileInsights'>): boolean {
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
