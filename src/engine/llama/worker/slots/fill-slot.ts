import type { Span } from '../../binding/spans.ts'
import type { Token } from '../../binding/tokenizer.ts'
import { readAll, type SequenceReading } from '../rounds/prefill.ts'
import type { PrefixStore } from './prefix-store.ts'
import { reusable, type Slot, sharedPrefix } from './slots.ts'

/**
 * llama.cpp copies all cells of a sequence, used or not. Copying this many cells takes about as long as reading one token (measured;
 * docs/decisions/0020).
 */
const cellsPerToken = 128

/** Where the prefixes of a run are kept, and for whom; absent: they are not kept. */
export type KeptPrefixes = { readonly store: PrefixStore; readonly owner: string }

type Filling = {
  /** The tokens to fill the slot with, in order. */
  readonly tokens: readonly Token[]
  /** Where media are among them. */
  readonly spans: readonly Span[]
  /** Other slots of the same run; their tokens may be copied. */
  readonly others: Iterable<Slot>
  readonly prefixes: KeptPrefixes | undefined
  /** Where the last message of the prompt begins, if known. */
  readonly lastMessage: number | undefined
}

/**
 * Keeps only the tokens of a slot that these begin with, after copying from another slot or from disk if that helps. Returns how many it
 * has: at most all but the last, which must be computed for its logits.
 */
export async function keepPrefix(slot: Slot, { tokens, spans, others, prefixes, lastMessage }: Filling): Promise<number> {
  const { sequence } = slot
  const before = tokens.slice(0, -1)
  await prefixes?.store.save(slot, before)
  slot.owner = prefixes?.owner
  await copyPrefix(slot, before, others)
  await prefixes?.store.restore(slot, { owner: prefixes.owner, tokens: before, spans })
  await sequence.truncate(sharedPrefix(sequence.contextTokens, before))
  sequence.planStops({ tokens: tokens.length, lastMessage })
  const kept = sequence.nextTokenIndex
  if ((slot.pinnedTokens ?? 0) > kept) slot.pinnedTokens = 0
  return kept
}

/** Fills a slot with these tokens except the last. False: `isOver` ended it. */
export async function fillSlot(slot: Slot, filling: Filling, reading: Omit<SequenceReading, 'sequence'>): Promise<boolean> {
  const kept = await keepPrefix(slot, filling)
  return readAll(filling.tokens.slice(kept, -1), { ...reading, sequence: slot.sequence })
}

/** Copies from the slot with the longest shared prefix, if copying costs less than reading. */
async function copyPrefix(to: Slot, tokens: readonly Token[], others: Iterable<Slot>): Promise<void> {
  const own = reusable(to, tokens)
  let [best, most]: [Slot | undefined, number] = [undefined, own + to.sequence.context.contextSize / cellsPerToken]
  for (const slot of others) {
    const shared = reusable(slot, tokens)
    if (shared > most) [best, most] = [slot, shared]
  }
  if (best !== undefined) await to.sequence.copyFrom(best.sequence, most)
}
