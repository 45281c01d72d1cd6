import type { GgmlType, LlamaContext, LlamaContextSequence, LlamaModel } from 'node-llama-cpp'
import type { CacheType } from '../../../../contract/lifecycle.ts'
import type { LoadOptions } from '../../channel/ipc.ts'
import { appliedAdapters } from './applied-adapters.ts'
import { computeTokens, inOrderOfSequences } from './native.ts'

export type ContextOptions = Pick<
  LoadOptions,
  'slots' | 'flashAttention' | 'cacheTypeK' | 'cacheTypeV' | 'batchSize' | 'adapters'
> & {
  /** Or the most that it may be, if there is memory for it now, and the least. */
  readonly contextSize: number | { readonly min: number; readonly max: number }
  readonly threads: number
}

export type OpenContext = { readonly context: LlamaContext; readonly sequences: readonly LlamaContextSequence[] }

/** Makes a context whose passes are computed in rounds (`rounds.ts`), and a sequence for each slot. Throws llama.cpp's own errors. */
export async function openContext(model: LlamaModel, options: ContextOptions): Promise<OpenContext> {
  const { contextSize, threads, slots, flashAttention, cacheTypeK, cacheTypeV, batchSize } = options
  const context = await model.createContext({
    contextSize,
    sequences: slots,
    flashAttention,
    ...(cacheTypeK !== undefined && { experimentalKvCacheKeyType: formatOf(cacheTypeK) }),
    ...(cacheTypeV !== undefined && { experimentalKvCacheValueType: formatOf(cacheTypeV) }),
    ...loraOf(options),
    threads,
    ...(batchSize !== undefined && { batchSize }),
    // A round queues all of its work before the tick ends.
    batching: { itemPrioritizationStrategy: inOrderOfSequences, dispatchSchedule: (dispatch) => process.nextTick(dispatch) },
    failedCreationRemedy: false,
  })
  return { context, sequences: Array.from({ length: slots }, () => context.getSequence()) }
}

/** Computes so many tokens in an empty sequence, and forgets them. */
export async function computeAndForget(sequence: LlamaContextSequence, tokens: number): Promise<void> {
  const { bos, eos, nl } = sequence.model.tokens
  const token = bos ?? eos ?? nl
  if (token === null) return
  const some = Array.from({ length: tokens }, () => token)
  await computeTokens(sequence, some)
  await sequence.clearHistory()
}

function loraOf({ adapters = [] }: Pick<LoadOptions, 'adapters'>) {
  const applied = appliedAdapters(adapters)
  return applied.length === 0 ? {} : { lora: { adapters: applied.map(({ path, scale }) => ({ filePath: path, scale })) } }
}

function formatOf(type: CacheType): keyof typeof GgmlType {
  return type.toUpperCase() as Uppercase<CacheType>
}
