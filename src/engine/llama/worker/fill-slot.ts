import type { Token } from 'node-llama-cpp'
import { copyTokens } from './native.ts'
import { type PrefillPacer, promptChunks } from './prefill.ts'
import { type Slot, sharedPrefix } from './slots.ts'

/**
 * llama.cpp copies all cells that a sequence has room for, used or not, which takes about as long as reading a token for so
 * many cells (measured; docs/decisions/0020).
 */
const cellsPerToken = 128

type Filling = {
  /** All that the slot shall hold, in order. */
  readonly tokens: readonly Token[]
  /** Slots of the same run; what they hold may be copied. */
  readonly others: Iterable<Slot>
  readonly pacer: PrefillPacer
  /** Where it is true between two steps, the filling ends. */
  readonly isOver: () => boolean
}

/** Makes a slot hold these tokens. Gives how many of them did not have to be computed; `undefined` when it ended before. */
export async function fillSlot({ sequence }: Slot, { tokens, others, pacer, isOver }: Filling): Promise<number | undefined> {
  await copyPrefix({ sequence }, tokens, others)
  await sequence.adaptStateToTokens([...tokens], false)
  const held = sequence.nextTokenIndex
  for await (const chunk of promptChunks(tokens.slice(held), pacer)) {
    if (isOver()) return undefined
    await sequence.evaluateWithoutGeneratingNewTokens(chunk)
  }
  return isOver() ? undefined : held
}

/** From the slot that holds the most of the tokens, where copying costs less than reading. */
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
