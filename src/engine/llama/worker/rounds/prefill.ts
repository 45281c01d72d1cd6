import type { LogitIndex } from '../../binding/context.ts'
import type { Slice } from '../../binding/senses.ts'
import type { Sequence } from '../../binding/sequence.ts'
import type { Span } from '../../binding/spans.ts'
import type { Token } from '../../binding/tokenizer.ts'
import type { PrefillPacer } from './prefill-pacer.ts'
import type { Round, Rounds } from './rounds.ts'

/** The first step of a new model reads its weights from disk, so its time is not representative. */
const warmUpTokens = { first: 1, measured: 16 }

/** The media of a prompt. */
export type MediaReading = {
  readonly spans: readonly Span[]
  /** The vectors of the span of this index, which may have to be computed in a round. */
  vectorsOf(index: number, isOver: () => boolean): Promise<{ readonly slice: Slice; readonly vectors: Float32Array } | 'over'>
}

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

/** How a prompt is read into a sequence. */
export type SequenceReading = Omit<Reading, 'depth' | 'stops'> & {
  readonly sequence: Sequence
  readonly media?: MediaReading | undefined
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
  // The end of another prompt of the round may have interrupted it.
  while (!isRead && !isOver()) {
    await joinUntilOver({ rounds, isOver }, async () => {
      await compute([...tokens], true)
      isRead = true
    })
  }
  return isRead
}

/** Reads tokens into a sequence, in steps. False: `isOver` ended it. */
export async function readAll(tokens: readonly Token[], { sequence, media, ...reading }: SequenceReading): Promise<boolean> {
  const rest = await readMedia(tokens, { sequence, media, ...reading })
  return rest !== 'over' && readTexts(rest, { sequence, ...reading })
}

function readTexts(tokens: readonly Token[], { sequence, ...reading }: Omit<SequenceReading, 'media'>): Promise<boolean> {
  return readInSteps(tokens, { ...reading, depth: sequence.nextTokenIndex, stops: sequence }, (step) => sequence.compute(step))
}

/** Reads tokens up to the end of their last medium, and returns the rest. */
async function readMedia(
  tokens: readonly Token[],
  { sequence, media, ...reading }: SequenceReading,
): Promise<readonly Token[] | 'over'> {
  let rest = tokens
  for (const [index, { start, tokens: count }] of media?.spans.entries() ?? []) {
    const before = start - sequence.nextTokenIndex
    if (before < 0 || before >= rest.length) continue
    if (!(await readTexts(rest.slice(0, before), { sequence, ...reading }))) return 'over'
    const found = await media?.vectorsOf(index, reading.isOver)
    if (found === undefined || found === 'over') return 'over'
    if (!(await readSlice(rest.slice(before, before + count), { sequence, ...reading, ...found }))) return 'over'
    rest = rest.slice(before + count)
  }
  return rest
}

type SliceReading = Omit<SequenceReading, 'media'> & { readonly slice: Slice; readonly vectors: Float32Array }

async function readSlice(tokens: readonly Token[], { sequence, slice, vectors, ...reading }: SliceReading): Promise<boolean> {
  const start = sequence.nextTokenIndex
  const length = vectors.length / slice.tokens
  const compute = (step: Token[]) => {
    const from = sequence.nextTokenIndex - start
    return sequence.computeSlice(step, { slice, from, vectors: vectors.subarray(from * length, (from + step.length) * length) })
  }
  const isRead = slice.isCausal
    ? await readInSteps(tokens, { ...reading, depth: start }, compute)
    : await readAtOnce(tokens, reading, compute)
  if (isRead && !slice.isCausal) reading.onRead?.(sequence.nextTokenIndex)
  return isRead
}

/** Computes the tokens; several of them in steps, as a prompt. Calls `read` for the last one, in its step. */
export async function readLast<T>(
  tokens: readonly Token[],
  { sequence, media, ...reading }: SequenceReading,
  read: (index: LogitIndex) => T,
): Promise<T | 'over'> {
  const unread = media === undefined ? tokens : await readMedia(tokens, { sequence, media, ...reading })
  if (unread === 'over') return 'over'
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
