import { poolingTypes } from '../../binding/context-params.ts'
import type { Model } from '../../binding/model.ts'

/** How the vectors of a text's tokens become one. */
export type Pooling = Exclude<keyof typeof poolingTypes, 'none'>

/** The pooling of the model's file; vectors of a complete text need one. */
export function poolingOf({ fileInfo }: Pick<Model, 'fileInfo'>): Pooling {
  const { pooling_type: type } = fileInfo.architectureMetadata as { readonly pooling_type?: unknown }
  const found = Object.entries(poolingTypes).find(([name, number]) => number === type && name !== 'none')
  return found === undefined ? 'mean' : (found[0] as Pooling)
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
