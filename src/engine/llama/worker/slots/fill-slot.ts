import type { CacheTier } from '../../../../contract/usage.ts'
import type { LastMessage } from '../../binding/checkpoints.ts'
import type { Span } from '../../binding/spans.ts'
import type { Token } from '../../binding/tokenizer.ts'
import { readAll, type SequenceReading } from '../rounds/prefill.ts'
import type { PrefixStore } from './prefix-store.ts'
import { type OwnedTokens, reusable, type Slot, sharedPrefix } from './slots.ts'

/**
 * llama.cpp copies all cells of a sequence, used or not. Copying this many cells takes about as long as reading one token (measured;
 * docs/inside/decisions/0020).
 */
const cellsPerToken = 128

type Filling = {
  /** The tokens to fill the slot with, in order. */
  readonly tokens: readonly Token[]
  readonly owner: string
  /** Where media are among them. */
  readonly spans: readonly Span[]
  /** Other slots, whose tokens may be copied if they are the owner's. */
  readonly others: Iterable<Slot>
  readonly store: PrefixStore | undefined
  /** That of the prompt, for a context that forgets. */
  readonly lastMessage: LastMessage | undefined
}

/** The number of tokens that a slot need not compute, and where they were. */
export type Kept = { readonly tokens: number; readonly from: CacheTier }

/**
 * Keeps only the tokens of a slot that these begin with, after restoring them from the store or copying from another slot if that helps. Returns how many
 * it has: at most all but the last, which must be computed for its logits.
 */
export async function keepPrefix(slot: Slot, { tokens, owner, spans, others, store, lastMessage }: Filling): Promise<Kept> {
  const { sequence } = slot
  const before = tokens.slice(0, -1)
  const wanted = { owner, tokens: before, spans }
  await store?.save(slot, wanted)
  if (slot.owner !== owner) await sequence.clearHistory()
  slot.owner = owner
  const from = (await store?.restore(slot, wanted)) ?? 'slot'
  await copyPrefix(slot, wanted, others)
  await sequence.truncate(sharedPrefix(sequence.contextTokens, before))
  sequence.planStops({ tokens: tokens.length, lastMessage })
  const kept = sequence.nextTokenIndex
  if ((slot.pinnedTokens ?? 0) > kept) slot.pinnedTokens = 0
  return { tokens: kept, from }
}

/** Fills a slot with these tokens except the last. False: `isOver` ended it. */
export async function fillSlot(slot: Slot, filling: Filling, reading: Omit<SequenceReading, 'sequence'>): Promise<boolean> {
  const { tokens: kept } = await keepPrefix(slot, filling)
  return readAll(filling.tokens.slice(kept, -1), { ...reading, sequence: slot.sequence })
}

/** Copies from the slot with the longest shared prefix, if copying costs less than reading. */
async function copyPrefix(to: Slot, wanted: OwnedTokens, others: Iterable<Slot>): Promise<void> {
  const own = reusable(to, wanted)
  let [best, most]: [Slot | undefined, number] = [undefined, own + to.sequence.context.contextSize / cellsPerToken]
  for (const slot of others) {
    const shared = reusable(slot, wanted)
    if (shared > most) [best, most] = [slot, shared]
  }
  if (best !== undefined) await to.sequence.copyFrom(best.sequence, most)
}
