import type { Context } from '../../../src/engine/llama/binding/context.ts'
import { intAt, type Params, type Pointer } from '../../../src/engine/llama/binding/library.ts'

/**
 * The sequences of each batch that llama.cpp computes from now on, in the order in which it is given them. `onPass` is called with them
 * just before the last of them is computed.
 */
export function watchPasses(context: Context, onPass: (passes: number[][]) => void = () => undefined): number[][] {
  const passes: number[][] = []
  watchBatches(context, (batch) => {
    passes.push(sequencesOf(batch))
    onPass(passes)
  })
  return passes
}

/** Counts the tokens that llama.cpp computes from now on without their logits: those of prompts, except the last of each. */
export function countPromptTokens(context: Context): () => number {
  let count = 0
  watchBatches(context, ({ n_tokens: length, logits }) => {
    count += (logits as Int8Array).subarray(0, length as number).filter((wanted) => wanted === 0).length
  })
  return () => count
}

function watchBatches(context: Context, onBatch: (batch: Params) => void): void {
  const { library } = context
  const inThread: typeof library.decode.inThread = (native, batch) => {
    onBatch(batch)
    return library.decode.inThread(native, batch)
  }
  Object.defineProperty(context, 'library', { value: { ...library, decode: { inThread } }, configurable: true })
}

/** A batch has the address of each token's sequence. */
function sequencesOf({ n_tokens: count, seq_id: addresses }: Params): number[] {
  const all = Array.from((addresses as BigUint64Array).subarray(0, count as number), (address: Pointer) => intAt(address))
  return all.filter((sequence, index) => sequence !== all[index - 1])
}
