import type { LlamaContextSequence, LlamaModel, SequenceEvaluateOptions, Token } from 'node-llama-cpp'
import { AppError } from '../../../../contract/errors.ts'
import { computeTokens, createSampler, evaluateLast, type LogitIndex, sampleToken } from '../context/native.ts'
import { type Reading, readInSteps } from '../rounds/prefill.ts'
import type { ConstrainedOutput } from './constrained-output.ts'
import { createScorer, type TokenScore } from './scores.ts'
import type { Speculation } from './speculation.ts'

/** A generated token; `score` is there when log-probabilities were asked for. */
export type SourcedToken = { readonly token: Token; readonly score?: TokenScore | undefined }

/** The tokens of one choice, one at a time. It must be closed. */
export type TokenSource = {
  /**
   * Computes `unread`, on a sequence that contains all tokens before them, and returns the next token; `end` when the model has ended
   * its turn, `over` when the run has ended meanwhile. The sequence may change between calls. With speculation it may contain tokens that
   * later calls return.
   */
  next(sequence: LlamaContextSequence, unread: readonly Token[]): Promise<SourcedToken | 'end' | 'over'>
  close(): void
}

type Steering = {
  /** The number of top log-probabilities; absent: no log-probabilities. */
  readonly topLogprobs?: number | undefined
  readonly constrained?: ConstrainedOutput | undefined
  /** The next token to insert instead of a sampled one, if any. */
  readonly inserted?: (() => Token | undefined) | undefined
  readonly speculation?: Speculation | undefined
  /** Called with each token before the next one is sampled. */
  readonly onToken: (token: Token) => void
}

/**
 * Samples tokens as `sequence.evaluate` does, but step by step. The state of the sampling (random numbers, penalties, grammar) is kept
 * here: the same seed gives the same text, with log-probabilities and without, on one sequence and on several.
 */
export function openTokenSource(
  { model, reading }: { readonly model: LlamaModel; readonly reading: Omit<Reading, 'depth'> },
  { options, steering }: { options: SequenceEvaluateOptions; steering: Steering },
): TokenSource {
  const { topLogprobs, constrained, inserted, speculation, onToken } = steering
  const sampler = createSampler(model)
  const scorer = topLogprobs === undefined ? undefined : createScorer(model, topLogprobs)
  /** Most tokens that are sampled freely are allowed, and finding all allowed ones takes longer. */
  const choose = async (sequence: LlamaContextSequence, index: LogitIndex): Promise<Token> => {
    // The DRY penalty remembers every token that was sampled, so a token must not be sampled twice.
    const mayResample = options.dryRepeatPenalty === undefined
    if (constrained === undefined || mayResample) {
      const free = await sampleToken(sequence, { sampler, index, options })
      if (constrained === undefined || constrained.allows(free)) return free
    }
    return chooseAllowed(constrained, (forbidden) => sampleToken(sequence, { sampler, index, options, forbidden }))
  }
  /** Tokens of a draft that were sampled and not returned yet. */
  let sampled: SourcedToken[] = []
  const sample = async (sequence: LlamaContextSequence, unread: readonly Token[]): Promise<SourcedToken[] | 'over'> => {
    const fixed = inserted?.()
    const read = async (index: LogitIndex): Promise<SourcedToken> => {
      const token = fixed ?? (await choose(sequence, index))
      const score = await scorer?.score(sequence, index, token)
      if (!model.isEogToken(token)) {
        constrained?.accept(token)
        speculation?.push(token)
        onToken(token)
      }
      return { token, score }
    }
    const [last, ...others] = unread
    if (speculation === undefined || last === undefined || others.length > 0) {
      const one = await readLast(unread, { sequence, ...reading }, read)
      return one === 'over' ? 'over' : [one]
    }
    // node-llama-cpp drops tokens as soon as a context has room for only one more.
    const room = sequence.contextSize - sequence.nextTokenIndex - 2
    return speculation.compute({ sequence, last, room, ...reading }, read)
  }
  return {
    async next(sequence, unread) {
      if (sampled.length === 0) {
        const more = await sample(sequence, unread)
        if (more === 'over') return 'over'
        sampled = more
      }
      const next = sampled.shift() as SourcedToken
      return model.isEogToken(next.token) ? 'end' : next
    },
    close() {
      sampler.dispose()
      scorer?.dispose()
    },
  }
}

/** Computes the tokens; several of them in steps, as a prompt. Calls `read` for the last one, in its step. */
async function readLast<T>(
  unread: readonly Token[],
  { sequence, ...reading }: Omit<Reading, 'depth'> & { readonly sequence: LlamaContextSequence },
  read: (index: LogitIndex) => Promise<T>,
): Promise<T | 'over'> {
  if (unread.length === 1) {
    // The request may have been cancelled while it waited for the round, as in `readInSteps`.
    return reading.rounds.join('tokens', async () => (reading.isOver() ? 'over' : evaluateLast(sequence, unread, read)))
  }
  let last: T | undefined
  const isRead = await readInSteps(unread, { ...reading, depth: sequence.nextTokenIndex }, async (step, isLast) => {
    if (isLast) last = await evaluateLast(sequence, step, read)
    else await computeTokens(sequence, step)
  })
  return isRead ? (last as T) : 'over'
}

async function chooseAllowed(constrained: ConstrainedOutput, sample: (forbidden: Uint32Array) => Promise<Token>): Promise<Token> {
  let cause: unknown
  const forbidden = constrained.forbidden()
  try {
    const token = await sample(forbidden)
    // Without a possible token, llama.cpp samples any.
    if (constrained.allows(token)) return token
  } catch (error) {
    cause = error
  }
  const message =
    'no token is possible here: the constraint of the output and the banned tokens (such as by logit_bias) contradict'
  throw new AppError('invalid-request', `${message} each other`, { cause })
}
