/** What a model makes of texts, each by itself. */
export type Scores = {
  /** A number for each text, in their order. */
  readonly scores: readonly number[]
  /**
   * `ranking-head`: what the model's head says. `log-likelihood`: how likely the model is to write the text, as the sum of the
   * natural logarithms of its tokens' probabilities; the first token has one only where the tokenizer puts one before it.
   */
  readonly method: 'ranking-head' | 'log-likelihood'
  /** How many tokens of each text the sum is over; absent for a ranking head. */
  readonly scoredTokens?: readonly number[]
  readonly inputTokens: number
}
