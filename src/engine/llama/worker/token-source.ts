import type { LlamaContextSequence, LlamaModel, SequenceEvaluateOptions, Token } from 'node-llama-cpp'
import { AppError } from '../../../contract/errors.ts'
import type { ConstrainedOutput } from './constrained-output.ts'
import { createSampler, evaluateToken, type LogitIndex, sampleToken } from './native.ts'
import type { Rounds } from './rounds.ts'
import { createScorer, type TokenScore } from './scores.ts'

/** A generated token; `score` is there when log-probabilities were asked for. */
export type SourcedToken = { readonly token: Token; readonly score?: TokenScore | undefined }

/** The tokens of one choice, one at a time. It must be closed. */
export type TokenSource = {
  /**
   * Computes `previous`, on a sequence that contains all tokens before it, and returns the next token; `undefined` when the model has
   * ended its turn. The sequence may change between calls.
   */
  next(sequence: LlamaContextSequence, previous: Token): Promise<SourcedToken | undefined>
  close(): void
}

type Steering = {
  /** The number of top log-probabilities; absent: no log-probabilities. */
  readonly topLogprobs?: number | undefined
  readonly constrained?: ConstrainedOutput | undefined
  /** The next token to insert instead of a sampled one, if any. */
  readonly inserted?: (() => Token | undefined) | undefined
}

/**
 * Samples tokens as `sequence.evaluate` does, but step by step. The state of the sampling (random numbers, penalties, grammar) is kept
 * here: the same seed gives the same text, with log-probabilities and without, on one sequence and on several.
 */
export function openTokenSource(
  { model, rounds }: { readonly model: LlamaModel; readonly rounds: Rounds },
  { options, steering }: { options: SequenceEvaluateOptions; steering: Steering },
): TokenSource {
  const { topLogprobs, constrained, inserted } = steering
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
  return {
    async next(sequence, previous) {
      const fixed = inserted?.()
      const read = async (index: LogitIndex): Promise<SourcedToken> => {
        const token = fixed ?? (await choose(sequence, index))
        return { token, score: await scorer?.score(sequence, index, token) }
      }
      const result = await rounds.join('tokens', () => evaluateToken(sequence, previous, read))
      if (model.isEogToken(result.token)) return undefined
      constrained?.accept(result.token)
      return result
    },
    close() {
      sampler.dispose()
      scorer?.dispose()
    },
  }
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
