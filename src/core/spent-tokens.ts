import type { EngineEvent } from '../contract/event.ts'

/** Counts what a run of an engine has cost, also when it is stopped before the engine reports it. */
export class SpentTokens {
  #inputTokens: number
  #pieces = 0
  #hasBegun = false
  #reported: number | undefined

  constructor(inputTokens = 0) {
    this.#inputTokens = inputTokens
  }

  observe(event: EngineEvent): void {
    if (event.type === 'usage') {
      this.#reported = event.usage.inputTokens + event.usage.outputTokens
    } else if (event.type === 'prompt-read') {
      this.#inputTokens = event.inputTokens
      this.#hasBegun = true
    } else if (event.type === 'raw-text' || 'delta' in event) {
      // Until the engine reports, a piece is taken for a token.
      this.#pieces += 1
      this.#hasBegun = true
    }
  }

  /** A run without any sign that its prompt was read has cost nothing. */
  get total(): number {
    if (this.#reported !== undefined) return this.#reported
    return this.#hasBegun ? this.#inputTokens + this.#pieces : 0
  }
}
