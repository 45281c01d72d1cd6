/** Times remembered for each size of pass. */
const remembered = 5

type Known = { readonly tokens: number; readonly ms: number }

/** The durations of passes with one token of each sequence, by the number of sequences. */
export class PassTimes {
  readonly #last: number[][] = []

  learn(tokens: number, tookMs: number): void {
    const last = this.#last[tokens] ?? []
    this.#last[tokens] = last
    if (last.push(tookMs) > remembered) last.shift()
  }

  /** The median time of such passes in ms; undefined if none was measured. */
  measured(tokens: number): number | undefined {
    const last = this.#last[tokens]
    return last === undefined ? undefined : median(last)
  }

  /** The expected time in ms, too long rather than too short for unmeasured sizes; 0 if nothing was measured. */
  of(tokens: number): number {
    return this.#estimate(tokens, ({ tokens: fewer, ms }) => (ms * tokens) / fewer)
  }

  /** As `of`, but too short rather than too long for passes larger than those measured. */
  atLeast(tokens: number): number {
    return this.#estimate(tokens, ({ ms }) => ms)
  }

  #estimate(tokens: number, beyond: (most: Known) => number): number {
    if (tokens === 0) return 0
    const measured = this.measured(tokens)
    if (measured !== undefined) return measured
    // `flatMap` skips sizes that were not measured.
    const known = this.#last.flatMap((last, count) => [{ tokens: count, ms: median(last) }])
    const fewer = known.findLast((one) => one.tokens < tokens)
    const more = known.find((one) => one.tokens > tokens)
    if (more === undefined) return fewer === undefined ? 0 : beyond(fewer)
    if (fewer === undefined) return more.ms
    return fewer.ms + ((more.ms - fewer.ms) * (tokens - fewer.tokens)) / (more.tokens - fewer.tokens)
  }
}

/** Ignores an outlier, such as a slow pass, or an empty one of a cancelled request. */
function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0
}
