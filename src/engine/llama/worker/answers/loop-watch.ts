import type { Token } from '../../binding/tokenizer.ts'

/**
 * Whether the last `window` tokens of an output are a pattern, repeated at least once (`loop_detect_window` of tabbyAPI, which is
 * `stop_on_loop` of exllamav3 with two repetitions).
 */
export class LoopWatch {
  readonly #tokens: Token[] = []
  readonly #window: number
  /** For each length of a pattern, how many of the last tokens repeat it. */
  readonly #runs: Uint32Array

  constructor(window: number) {
    this.#window = window
    this.#runs = new Uint32Array(Math.floor(window / 2) + 1)
  }

  /** Adds a token; returns whether the output loops now. */
  push(token: Token): boolean {
    const count = this.#tokens.push(token)
    let loops = false
    for (let length = 1; length < this.#runs.length && length < count; length++) {
      const run = this.#tokens[count - 1 - length] === token ? (this.#runs[length] as number) + 1 : 0
      this.#runs[length] = run
      loops ||= run >= this.#window - length
    }
    return loops
  }
}
