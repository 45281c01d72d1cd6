import type { PrefillPacer } from './prefill-pacer.ts'
import type { Rounds } from './rounds.ts'

/** The first step of a new model reads its weights from disk, and says nothing about others. */
const warmUpTokens = { first: 1, measured: 16 }

/** How a prompt is read. */
export type Reading = {
  readonly pacer: PrefillPacer
  readonly rounds: Rounds
  /** Checked between two steps; true ends the reading. */
  readonly isOver: () => boolean
  /** The tokens that the sequence has already. */
  readonly depth: number
}

/** `isLast`: the step has the last token. */
type Compute<T> = (step: T[], isLast: boolean) => Promise<void>

/** Reads a prompt in steps, each in a round. False: `isOver` ended it. */
export async function readInSteps<T>(
  tokens: readonly T[],
  { pacer, rounds, isOver, depth: start }: Reading,
  compute: Compute<T>,
): Promise<boolean> {
  let read = 0
  while (read < tokens.length) {
    if (isOver()) return false
    await rounds.join('prompts', async (round) => {
      // The request may have been cancelled while it waited for the round.
      if (isOver()) return
      const depth = start + read
      const step = tokens.slice(read, read + pacer.stepOf(round, { remaining: tokens.length - read, depth }))
      // The round is full: the next one begins with this prompt.
      if (step.length === 0) return
      const finished = pacer.measure(round, { tokens: step.length, depth })
      await compute(step, read + step.length === tokens.length)
      finished()
      read += step.length
    })
  }
  return true
}

/** Computes a few tokens, so that the weights are in memory and the first prompt is read in longer steps at once. */
export async function warmUp(compute: (tokens: number) => Promise<void>, pacer: PrefillPacer): Promise<void> {
  const { first, measured } = warmUpTokens
  await compute(first)
  const finished = pacer.measure({ tokens: 0, prompts: 1, tokensMs: 0 }, { tokens: measured, depth: 0 })
  await compute(measured)
  finished()
}
