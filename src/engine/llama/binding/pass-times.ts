/** So many passes of the same size are remembered. */
const remembered = 5

type Known = { readonly tokens: number; readonly ms: number }

/** How long passes take in which each sequence has one token, by the number of sequences. */
export class PassTimes {
  readonly #last: number[][] = []

  learn(tokens: number, tookMs: number): void {
    const last = this.#last[tokens] ?? []
    this.#last[tokens] = last
    if (last.push(tookMs) > remembered) last.shift()
  }

  /** The usual time of such passes in ms; undefined where none has been computed. */
  measured(tokens: number): number | undefined {
    const last = this.#last[tokens]
    return last === undefined ? undefined : median(last)
  }

  /** The usual time in ms, rather too long for fewer or more tokens than have been computed; 0 where nothing has. */
  of(tokens: number): number {
    return this.#estimate(tokens, ({ tokens: fewer, ms }) => (ms * tokens) / fewer)
  }

  /** As `of`, but rather too short for more tokens than have been computed. */
  atLeast(tokens: number): number {
    return this.#estimate(tokens, ({ ms }) => ms)
  }

  #estimate(tokens: number, beyond: (most: Known) => number): number {
    if (tokens === 0) return 0
    const measured = this.measured(tokens)
    if (measured !== undefined) return measured
    // `flatMap` leaves out numbers that have not been computed.
    const known = this.#last.flatMap((last, count) => [{ tokens: count, ms: median(last) }])
    const fewer = known.findLast((one) => one.tokens < tokens)
    const more = known.find((one) => one.tokens > tokens)
    if (more === undefined) return fewer === undefined ? 0 : beyond(fewer)
    if (fewer === undefined) return more.ms
    return fewer.ms + ((more.ms - fewer.ms) * (tokens - fewer.tokens)) / (more.tokens - fewer.tokens)
  }
}

/** One slow pass, or an empty one of a cancelled request, does not count. */
function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0
}
