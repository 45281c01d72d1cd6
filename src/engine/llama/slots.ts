import type { LlamaContextSequence, Token } from 'node-llama-cpp'

/** One sequence of the context: it keeps the tokens of its last request, for the next one to go on from. */
export type Slot = { readonly sequence: LlamaContextSequence; busy: boolean; lastUsed: number }

/** What choosing needs to know of a slot. */
type SlotFacts = {
  readonly busy: boolean
  readonly lastUsed: number
  readonly sequence: { readonly contextTokens: readonly Token[] }
}

/**
 * The free slot that shares the longest prefix with `tokens`; of equals, the one used longest ago, so that the others'
 * caches live on. `undefined` when all are busy.
 */
export function pickSlot<T extends SlotFacts>(slots: readonly T[], tokens: Uint32Array): T | undefined {
  let best: { slot: T; shared: number } | undefined
  for (const slot of slots) {
    if (slot.busy) continue
    const shared = sharedPrefix(slot.sequence.contextTokens, tokens)
    const better = best === undefined || shared > best.shared || (shared === best.shared && slot.lastUsed < best.slot.lastUsed)
    if (better) best = { slot, shared }
  }
  return best?.slot
}

function sharedPrefix(a: readonly number[], b: Uint32Array): number {
  const length = Math.min(a.length, b.length)
  let index = 0
  while (index < length && a[index] === b[index]) index += 1
  return index
}
