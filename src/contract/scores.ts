/** A model's scores of texts, each by itself. */
export type Scores = {
  /** One number per text, in order. */
  readonly scores: readonly number[]
  /**
   * `ranking-head`: the head's output. `log-likelihood`: the sum of the tokens' log-probabilities (natural logarithm); the first
   * token has one only where the tokenizer adds a BOS token before it.
   */
  readonly method: 'ranking-head' | 'log-likelihood'
  /** The number of tokens in each sum; absent for a ranking head. */
  readonly scoredTokens?: readonly number[]
  readonly inputTokens: number
}
