import type { Token } from 'node-llama-cpp'
import { computeTokens, copyTokens } from './native.ts'
import { readInSteps } from './prefill.ts'
import type { PrefillPacer } from './prefill-pacer.ts'
import type { Rounds } from './rounds.ts'
import { type Slot, sharedPrefix } from './slots.ts'

/**
 * llama.cpp copies all cells of a sequence, used or not. Copying this many cells takes about as long as reading one token (measured;
 * docs/decisions/0020).
 */
const cellsPerToken = 128

type Filling = {
  /** The tokens that the slot is to contain, in order. */
  readonly tokens: readonly Token[]
  /** Other slots of the same run; their tokens may be copied. */
  readonly others: Iterable<Slot>
  readonly pacer: PrefillPacer
  readonly rounds: Rounds
  /** Checked between two steps; true ends the filling. */
  readonly isOver: () => boolean
}

/** Fills a slot with these tokens. Returns how many were not computed again; `undefined` when `isOver` ended it. */
export async function fillSlot(
  { sequence }: Slot,
  { tokens, others, pacer, rounds, isOver }: Filling,
): Promise<number | undefined> {
  await copyPrefix({ sequence }, tokens, others)
  await sequence.adaptStateToTokens([...tokens], false)
  const held = sequence.nextTokenIndex
  const compute = (step: readonly Token[]) => computeTokens(sequence, step)
  await readInSteps(tokens.slice(held), { pacer, rounds, isOver, compute })
  return isOver() ? undefined : held
}

/** Copies from the slot with the longest shared prefix, if copying costs less than reading. */
async function copyPrefix(to: Pick<Slot, 'sequence'>, tokens: readonly Token[], others: Iterable<Slot>): Promise<void> {
  let best: { readonly slot: Pick<Slot, 'sequence'>; readonly shared: number } = {
    slot: to,
    shared: sharedPrefix(to.sequence.contextTokens, tokens),
  }
  const least = best.shared + to.sequence.contextSize / cellsPerToken
  for (const slot of others) {
    const shared = sharedPrefix(slot.sequence.contextTokens, tokens)
    if (shared > least && shared > best.shared) best = { slot, shared }
  }
  if (best.slot === to) return
  if (!(await copyTokens(to.sequence, best.slot.sequence, best.shared))) await to.sequence.clearHistory()
}
