/** So many rounds with the same number of tokens are remembered. */
const remembered = 5

/** How long rounds without prompts take, by the number of tokens that are computed in them. */
export class RoundTimes {
  readonly #last: number[][] = []

  learn(tokens: number, tookMs: number): void {
    const last = this.#last[tokens] ?? []
    this.#last[tokens] = last
    if (last.push(tookMs) > remembered) last.shift()
  }

  /** The usual time of such rounds in ms; undefined where none has been computed. */
  measured(tokens: number): number | undefined {
    const last = this.#last[tokens]
    return last === undefined ? undefined : median(last)
  }

  /** The usual time in ms, rather too long where no such round has been computed; 0 where none has. */
  of(tokens: number): number {
    if (tokens === 0) return 0
    const more = this.#last.find((last, count) => count >= tokens && last !== undefined)
    if (more !== undefined) return median(more)
    const fewer = this.#last.length - 1
    return fewer < 1 ? 0 : (median(this.#last[fewer] ?? []) * tokens) / fewer
  }
}

/** One slow round, or an empty one of a cancelled request, does not count. */
function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0
}
