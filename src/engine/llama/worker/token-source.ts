import type {
  LlamaContextSequence,
  LlamaGrammarEvaluationState,
  LlamaModel,
  SequenceEvaluateOptions,
  Token,
} from 'node-llama-cpp'
import { AppError } from '../../../contract/errors.ts'
import { acceptToken, createSampler, evaluateToken, sampleToken } from './native.ts'
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
  readonly grammar?: LlamaGrammarEvaluationState | undefined
  /** The next token to insert instead of a sampled one, if any. */
  readonly inserted?: (() => Token | undefined) | undefined
}

/**
 * Samples tokens as `sequence.evaluate` does, but step by step. The state of the sampling (random numbers, penalties, grammar) is kept
 * here: the same seed gives the same text, with log-probabilities and without, on one sequence and on several.
 */
export function openTokenSource(
  model: LlamaModel,
  { options, steering }: { options: SequenceEvaluateOptions; steering: Steering },
): TokenSource {
  const { topLogprobs, grammar, inserted } = steering
  const sampler = createSampler(model)
  const scorer = topLogprobs === undefined ? undefined : createScorer(model, topLogprobs)
  const withGrammar = grammar === undefined ? options : { ...options, grammarEvaluationState: grammar }
  const choose: typeof sampleToken = async (...args) => {
    try {
      return await sampleToken(...args)
    } catch (cause) {
      if (grammar === undefined) throw cause
      // Without an allowed token, llama.cpp samples any token, which the grammar then rejects.
      const message =
        'no token is possible here: the constraint of the output and the banned tokens (such as by logit_bias) contradict'
      throw new AppError('invalid-request', `${message} each other`, { cause })
    }
  }
  return {
    async next(sequence, previous) {
      const fixed = inserted?.()
      if (fixed !== undefined && grammar !== undefined) acceptToken(model, grammar, fixed)
      const result = await evaluateToken(sequence, previous, async (index) => {
        const token = fixed ?? (await choose(sequence, { sampler, index, options: withGrammar }))
        return { token, score: await scorer?.score(sequence, index, token) }
      })
      return model.isEogToken(result.token) ? undefined : result
    },
    close() {
      sampler.dispose()
      scorer?.dispose()
    },
  }
}
