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

  /** About the reply, which has this many tokens; undefined where the server counted none. */
  describe(outputTokens: number | undefined): string | undefined {
    if (outputTokens === undefined || outputTokens === 0 || this.#firstMs === undefined) return undefined
    const count = `${outputTokens} ${outputTokens === 1 ? 'token' : 'tokens'}`
    const first = `the first after ${((this.#firstMs - this.#askedMs) / 1000).toFixed(2)} s`
    const seconds = (this.#lastMs - this.#firstMs) / 1000
    // The first token is waited for, not generated, in this time.
    const perSecond = outputTokens > 1 && seconds > 0 ? `, ${((outputTokens - 1) / seconds).toFixed(1)} tokens/s` : ''
    return `${count}${perSecond}, ${first}`
  }
}
