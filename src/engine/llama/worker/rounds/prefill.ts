import type { LogitIndex } from '../../binding/context.ts'
import type { Sequence } from '../../binding/sequence.ts'
import type { Token } from '../../binding/tokenizer.ts'
import type { PrefillPacer } from './prefill-pacer.ts'
import type { Round, Rounds } from './rounds.ts'

/** The first step of a new model reads its weights from disk, so its time is not representative. */
const warmUpTokens = { first: 1, measured: 16 }

/** How a prompt is read. */
export type Reading = {
  readonly pacer: PrefillPacer
  readonly rounds: Rounds
  /** Checked between two steps; true ends the reading. */
  readonly isOver: () => boolean
  /** The tokens that the sequence already has. */
  readonly depth: number
  /** Called after each step with the tokens that the sequence then has. */
  readonly onRead?: ((tokens: number) => void) | undefined
  /** Steps end where the sequence takes a checkpoint. */
  readonly stops?: Pick<Sequence, 'stops' | 'takeCheckpoint'> | undefined
}

/** `isLast`: the step has the last token. */
type Compute<T> = (step: T[], isLast: boolean) => Promise<void>

/** Reads a prompt in steps, each in a round. False: `isOver` ended it. */
export async function readInSteps<T>(
  tokens: readonly T[],
  { depth, stops, ...reading }: Reading,
  compute: Compute<T>,
): Promise<boolean> {
  let read = 0
  while (read < tokens.length) {
    if (reading.isOver()) return false
    const stop = stops?.stops.find((at) => at > depth + read && at < depth + tokens.length)
    const part = tokens.slice(read, stop === undefined ? undefined : stop - depth)
    read += await readStep(part, { ...reading, depth: depth + read }, (step, isLast) =>
      compute(step, isLast && stop === undefined),
    )
    if (depth + read === stop) await stops?.takeCheckpoint()
    reading.onRead?.(depth + read)
  }
  return true
}

/** Reads the first of these tokens, as many as fit in the next round; returns how many: none where the round is full, or `isOver`. */
export async function readStep<T>(
  tokens: readonly T[],
  { pacer, rounds, isOver, depth }: Reading,
  compute: Compute<T>,
): Promise<number> {
  let read = 0
  await joinUntilOver({ rounds, isOver }, async (round) => {
    const step = tokens.slice(0, pacer.stepOf(round, { remaining: tokens.length, depth }))
    // The next round begins with this prompt.
    if (step.length === 0) return
    const finished = pacer.measure(round, { tokens: step.length, depth })
    await compute(step, step.length === tokens.length)
    finished()
    read = step.length
  })
  return read
}

/** Reads all of these tokens in one step, for models that need it. False: `isOver` ended it. */
export async function readAtOnce<T>(
  tokens: readonly T[],
  { rounds, isOver }: Pick<Reading, 'rounds' | 'isOver'>,
  compute: Compute<T>,
): Promise<boolean> {
  let isRead = false
  await joinUntilOver({ rounds, isOver }, async () => {
    await compute([...tokens], true)
    isRead = true
  })
  return isRead
}

/** Computes the tokens; several of them in steps, as a prompt. Calls `read` for the last one, in its step. */
export async function readLast<T>(
  unread: readonly Token[],
  { sequence, ...reading }: Omit<Reading, 'depth'> & { readonly sequence: Sequence },
  read: (index: LogitIndex) => T,
): Promise<T | 'over'> {
  if (unread.length === 1) {
    // The request may have been cancelled while it waited for the round, as in `readInSteps`.
    return reading.rounds.join('tokens', async () => (reading.isOver() ? 'over' : sequence.computeLast(unread, read)))
  }
  let last: T | undefined
  const isRead = await readInSteps(
    unread,
    { ...reading, depth: sequence.nextTokenIndex, stops: sequence },
    async (step, isLast) => {
      if (isLast) last = await sequence.computeLast(step, read)
      else await sequence.compute(step)
    },
  )
  return isRead ? (last as T) : 'over'
}

/** Computes in the next round. Once it is over, nothing is computed, or the current pass may be interrupted. */
function joinUntilOver(
  { rounds, isOver }: Pick<Reading, 'rounds' | 'isOver'>,
  compute: (round: Round) => Promise<void>,
): Promise<void> {
  const computeUntilOver = async (round: Round) => {
    // The request may have been cancelled while it waited for the round.
    if (isOver()) return
    try {
      await compute(round)
    } catch (error) {
      // llama.cpp has removed the interrupted tokens from the sequence.
      if (!rounds.isInterrupted) throw error
    }
  }
  return rounds.join('prompts', computeUntilOver, { isOver })
}

/** Computes a few tokens, so that the weights are in memory and the first prompt gets longer steps from the start. */
export async function warmUp(compute: (tokens: number) => Promise<void>, pacer: PrefillPacer): Promise<void> {
  const { first, measured } = warmUpTokens
  await compute(first)
  const finished = pacer.measure({ tokens: 0, prompts: 1, tokensMs: 0 }, { tokens: measured, depth: 0 })
  await compute(measured)
  finished()
}
