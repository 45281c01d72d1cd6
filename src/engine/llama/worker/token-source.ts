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

/** Where the tokens of one choice come from, one at a time. Close it in any case. */
export type TokenSource = {
  /**
   * Computes the token before, on a sequence that holds all the tokens before that one, and gives the next one; `undefined`
   * when the model has ended its turn. The sequence may be another one each time.
   */
  next(sequence: LlamaContextSequence, previous: Token): Promise<SourcedToken | undefined>
  close(): void
}

export type Steering = {
  /** Log-probabilities are wanted, and of this many of the likeliest tokens beside the chosen one. */
  readonly topLogprobs?: number | undefined
  readonly grammar?: LlamaGrammarEvaluationState | undefined
  /** The token that must come next, whatever the model thinks. */
  readonly forced?: (() => Token | undefined) | undefined
}

/**
 * Tokens chosen as `sequence.evaluate` chooses them, step by step, so that something may happen in between. What the choice
 * depends on besides logits (random numbers, penalties, grammar) stays here: the same seed gives the same text, with
 * log-probabilities and without, on one sequence and on several.
 */
export function openTokenSource(
  model: LlamaModel,
  { options, steering }: { options: SequenceEvaluateOptions; steering: Steering },
): TokenSource {
  const { topLogprobs, grammar, forced } = steering
  const sampler = createSampler(model)
  const scorer = topLogprobs === undefined ? undefined : createScorer(model, topLogprobs)
  const withGrammar = grammar === undefined ? options : { ...options, grammarEvaluationState: grammar }
  const choose: typeof sampleToken = async (...place) => {
    try {
      return await sampleToken(...place)
    } catch (cause) {
      if (grammar === undefined) throw cause
      // llama.cpp then takes any token, which the grammar does not take.
      const message = 'nothing may follow here: what constrains the output and what bans tokens (such as logit_bias) contradict'
      throw new AppError('invalid-request', `${message} each other`, { cause })
    }
  }
  return {
    async next(sequence, previous) {
      const must = forced?.()
      if (must !== undefined && grammar !== undefined) acceptToken(model, grammar, must)
      const result = await evaluateToken(sequence, previous, async (index) => {
        const token = must ?? (await choose(sequence, { sampler, index, options: withGrammar }))
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
