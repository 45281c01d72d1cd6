/** Measures one streamed reply. */
export class ReplySpeed {
  readonly #now: () => number
  readonly #askedMs: number
  #firstMs: number | undefined
  #lastMs = 0

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#askedMs = now()
  }

  /** A part of the reply has arrived. */
  mark(): void {
    this.#lastMs = this.#now()
    this.#firstMs ??= this.#lastMs
  }

  /** A description of the reply with this many tokens; undefined if the server counted none. */
  describe(outputTokens: number | undefined): string | undefined {
    if (outputTokens === undefined || outputTokens === 0 || this.#firstMs === undefined) return undefined
    const count = `${outputTokens} ${outputTokens === 1 ? 'token' : 'tokens'}`
    const first = `the first after ${((this.#firstMs - this.#askedMs) / 1000).toFixed(2)} s`
    const seconds = (this.#lastMs - this.#firstMs) / 1000
    // The time before the first token was spent waiting, not generating.
    const perSecond = outputTokens > 1 && seconds > 0 ? `, ${((outputTokens - 1) / seconds).toFixed(1)} tokens/s` : ''
    return `${count}${perSecond}, ${first}`
  }
}
