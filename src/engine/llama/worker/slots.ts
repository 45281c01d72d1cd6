import type { LlamaContextSequence, Token } from 'node-llama-cpp'

/** One sequence of the context: it keeps the tokens of its last request, for the next one to go on from. */
export type Slot = { readonly sequence: LlamaContextSequence; busy: boolean; lastUsed: number }

/** What choosing needs to know of a slot. */
export type SlotFacts = {
  readonly busy: boolean
  readonly lastUsed: number
  readonly sequence: { readonly contextTokens: readonly Token[] }
}

/**
 * The free slot that shares the longest prefix with `tokens`; of equals, the one used longest ago, so that the others'
 * caches live on. `undefined` when all are busy.
 */
export function pickSlot<T extends SlotFacts>(slots: readonly T[], tokens: ArrayLike<number>): T | undefined {
  let best: { slot: T; shared: number } | undefined
  for (const slot of slots) {
    if (slot.busy) continue
    const shared = sharedPrefix(slot.sequence.contextTokens, tokens)
    const better = best === undefined || shared > best.shared || (shared === best.shared && slot.lastUsed < best.slot.lastUsed)
    if (better) best = { slot, shared }
  }
  return best?.slot
}

/** How many tokens two lists begin with alike. */
export function sharedPrefix(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const length = Math.min(a.length, b.length)
  let index = 0
  while (index < length && a[index] === b[index]) index += 1
  return index
}

/** What choosing needs to know of a slot that is held: by whom, and whether it is on its way back already. */
export type HeldFacts = { readonly holder: object; readonly isRecalled: boolean }

/**
 * Which of the held slots is asked back for somebody who has none: the last one of the holder that has the most. Nobody's
 * only one; `undefined` when nobody has two. `held` is in the order of taking.
 */
export function pickRecall<T extends HeldFacts>(held: readonly T[]): T | undefined {
  const kept = new Map<object, T[]>()
  let most: readonly T[] = []
  for (const slot of held) {
    if (slot.isRecalled) continue
    const ofHolder = [...(kept.get(slot.holder) ?? []), slot]
    kept.set(slot.holder, ofHolder)
    if (ofHolder.length > most.length) most = ofHolder
  }
  return most.length < 2 ? undefined : most.at(-1)
}
