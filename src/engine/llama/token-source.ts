import type {
  LlamaContextSequence,
  LlamaGrammarEvaluationState,
  LlamaModel,
  SequenceEvaluateOptions,
  Token,
} from 'node-llama-cpp'
import { acceptToken, createSampler, evaluateToken, sampleToken } from './native.ts'
import { createScorer, type TokenScore } from './scores.ts'

/** A generated token; `score` is there when log-probabilities were asked for. */
export type SourcedToken = { readonly token: Token; readonly score?: TokenScore | undefined }

/** Where the tokens of one choice come from, one at a time. Close it in any case. */
export type TokenSource = {
  /** Computes the token before, and gives the next one; `undefined` when the model has ended its turn. */
  next(previous: Token): Promise<SourcedToken | undefined>
  close(): Promise<void>
}

/** The plain way: node-llama-cpp evaluates and samples. */
export function plainSource(sequence: LlamaContextSequence, first: Token, options: SequenceEvaluateOptions): TokenSource {
  const tokens = sequence.evaluate([first], options)
  return {
    async next() {
      const { value, done } = await tokens.next()
      return done === true ? undefined : { token: value }
    },
    async close() {
      await tokens.return()
    },
  }
}

export type Steering = {
  /** Log-probabilities are wanted, and of this many of the likeliest tokens beside the chosen one. */
  readonly topLogprobs?: number | undefined
  readonly grammar?: LlamaGrammarEvaluationState | undefined
  /** The token that must come next, whatever the model thinks. */
  readonly forced: () => Token | undefined
}

/**
 * The same choice of tokens, step by step, where something has to happen in between. Sampling is as in the plain way: the
 * same seed gives the same text, with log-probabilities and without.
 */
export function steeredSource(
  model: LlamaModel,
  sequence: LlamaContextSequence,
  { options, steering }: { options: SequenceEvaluateOptions; steering: Steering },
): TokenSource {
  const { topLogprobs, grammar, forced } = steering
  const sampler = createSampler(model)
  const scorer = topLogprobs === undefined ? undefined : createScorer(model, sequence, topLogprobs)
  const withGrammar = grammar === undefined ? options : { ...options, grammarEvaluationState: grammar }
  return {
    async next(previous) {
      const must = forced()
      if (must !== undefined && grammar !== undefined) acceptToken(model, grammar, must)
      const result = await evaluateToken(sequence, previous, async (index) => {
        const token = must ?? (await sampleToken(sequence, { sampler, index, options: withGrammar }))
        return { token, score: await scorer?.score(index, token) }
      })
      return model.isEogToken(result.token) ? undefined : result
    },
    async close() {
      sampler.dispose()
      scorer?.dispose()
    },
  }
}
