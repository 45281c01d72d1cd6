import { Context } from '../../binding/context.ts'
import type { ContextOptions as Options } from '../../binding/context-params.ts'
import type { Model } from '../../binding/model.ts'
import { Sequence } from '../../binding/sequence.ts'

/** Uses what is installed; neither builds nor downloads. */
export const llamaOptions = { gpu: 'auto', build: 'never', skipDownload: true, progressLogs: false } as const

export type ContextOptions = Omit<Options, 'sequences'> & { readonly slots: number }

export type OpenContext = { readonly context: Context; readonly sequences: readonly Sequence[] }

/** Makes a context with a sequence for each slot. */
export async function openContext(model: Model, { slots, ...options }: ContextOptions): Promise<OpenContext> {
  const context = await Context.create(model, { ...options, sequences: slots })
  const sequences = Array.from({ length: slots }, (_, id) => new Sequence(context, id))
  const [first] = sequences
  if (first !== undefined) await context.tryErasing(first)
  return { context, sequences }
}

/** Computes `tokens` tokens in an empty sequence, and forgets them. */
export async function computeAndForget(sequence: Sequence, tokens: number): Promise<void> {
  const { bos, eos, nl } = sequence.context.model.tokens
  const token = bos ?? eos ?? nl
  if (token === null) return
  await sequence.compute(Array.from({ length: tokens }, () => token))
  await sequence.clearHistory()
}
