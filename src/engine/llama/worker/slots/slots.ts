import type { Sequence } from '../../binding/sequence.ts'

/** One sequence of the context. It keeps the tokens of its last request, so that the next one can reuse their prefix. */
export type Slot = {
  readonly sequence: Sequence
  busy: boolean
  lastUsed: number
  /** The owner of the request that filled it: nobody else may notice what is in it. Absent: it is empty. */
  owner?: string | undefined
  /** This many tokens stay in it while another slot is free. */
  pinnedTokens?: number
}

/** The tokens of a sequence, and whose request they are of. */
export type OwnedTokens = { readonly owner: string; readonly tokens: ArrayLike<number> }

/** The facts that the choice of a slot depends on. */
export type SlotFacts = Pick<Slot, 'busy' | 'lastUsed' | 'pinnedTokens' | 'owner'> & {
  readonly sequence: Pick<Sequence, 'contextTokens' | 'reusable'>
}

/**
 * llama.cpp computes sequences in one pass only while their numbers are consecutive, so a gap between busy slots costs placeholder tokens
 * (`binding/gaps.ts`) or another pass. Prefixes that differ by less than this, such as the beginning of a chat template, weigh less than a
 * gap.
 */
const gapTokens = 32
/** More than any prefix is worth. */
const pinnedWorth = 1e9

/**
 * The free slot that shares the longest prefix with the wanted tokens, beside busy ones where that costs little; of equals, the least recently used,
 * so that the others keep their caches. `undefined` when all are busy.
 */
export function pickSlot<T extends SlotFacts>(slots: readonly T[], wanted: OwnedTokens): T | undefined {
  let best: { slot: T; worth: number } | undefined
  for (const [index, slot] of slots.entries()) {
    if (slot.busy) continue
    const shared = reusable(slot, wanted)
    const losesPinned = (slot.pinnedTokens ?? 0) > shared
    const worth = shared + gapTokens * busyNeighbours(slots, index) - (losesPinned ? pinnedWorth : 0)
    const better = best === undefined || worth > best.worth || (worth === best.worth && slot.lastUsed < best.slot.lastUsed)
    if (better) best = { slot, worth }
  }
  return best?.slot
}

function busyNeighbours(slots: readonly SlotFacts[], index: number): number {
  return [slots[index - 1], slots[index + 1]].filter((slot) => slot?.busy === true).length
}

/** How many of these tokens a slot need not compute again. */
export function reusable({ sequence, owner }: Pick<SlotFacts, 'sequence' | 'owner'>, wanted: OwnedTokens): number {
  return owner !== wanted.owner ? 0 : sequence.reusable(sharedPrefix(sequence.contextTokens, wanted.tokens))
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
