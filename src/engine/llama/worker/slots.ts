import type { LlamaContextSequence, Token } from 'node-llama-cpp'

/** One sequence of the context. It keeps the tokens of its last request, so that the next one can reuse their prefix. */
export type Slot = { readonly sequence: LlamaContextSequence; busy: boolean; lastUsed: number }

/** The facts that the choice of a slot depends on. */
export type SlotFacts = {
  readonly busy: boolean
  readonly lastUsed: number
  readonly sequence: { readonly contextTokens: readonly Token[] }
}

/**
 * The free slot that shares the longest prefix with `tokens`; of equals, the least recently used one, so that the others
 * keep their caches. `undefined` when all are busy.
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

/** The length of the common prefix of two lists. */
export function sharedPrefix(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const length = Math.min(a.length, b.length)
  let index = 0
  while (index < length && a[index] === b[index]) index += 1
  return index
}

/** The facts that a recall depends on. */
type HeldFacts = { readonly holder: object; readonly isRecalled: boolean }

/**
 * The slot to recall for a holder without one: the last slot of the holder with the most. Never a holder's only slot; `undefined` when
 * no holder has two. `held` is in the order of assignment.
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
