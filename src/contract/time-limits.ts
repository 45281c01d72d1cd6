/** How long the steps of a request may take, in milliseconds; absent: as long as they take. */
export type TimeLimits = {
  /** Waiting for a slot of the model. */
  readonly queueMs?: number
  /** From the slot to the first token; of what generates nothing, to its end. */
  readonly firstTokenMs?: number
  /** Between two tokens. */
  readonly stallMs?: number
  /** From the first token to the end. What was generated until then is the reply. */
  readonly generationMs?: number
}
