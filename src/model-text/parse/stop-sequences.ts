/** What one step of output makes certain. */
export type StopStep = { readonly text: string; readonly stop?: string }

/**
 * Cuts a stream of text before the first stop string to be completed, also when it spans chunks. Text that may still
 * become a stop string is held back, so no part of one is ever output; where the text is cut makes no difference.
 */
export class StopStrings {
  readonly #stops: readonly string[]
  #held = ''

  constructor(stops: readonly string[]) {
    this.#stops = stops
  }

  /** Returns the text that is now certain, and the stop string if one was completed; nothing may be pushed after that. */
  push(text: string): StopStep {
    if (this.#stops.length === 0) return { text }
    const buffer = this.#held + text
    const match = firstCompleted(buffer, this.#stops)
    if (match !== undefined) {
      this.#held = ''
      return { text: buffer.slice(0, match.start), stop: match.stop }
    }
    const certain = buffer.length - longestOpenSuffix(buffer, this.#stops)
    this.#held = buffer.slice(certain)
    return { text: buffer.slice(0, certain) }
  }

  /** The held-back text, once no more will come. */
  end(): string {
    const rest = this.#held
    this.#held = ''
    return rest
  }
}

/** The stop string that ends first; of two that end together, the longer. This is what arrival letter by letter gives. */
function firstCompleted(buffer: string, stops: readonly string[]): { start: number; stop: string } | undefined {
  let best: { start: number; stop: string } | undefined
  for (const stop of stops) {
    const start = buffer.indexOf(stop)
    if (start === -1) continue
    const end = start + stop.length
    const bestEnd = best === undefined ? Number.POSITIVE_INFINITY : best.start + best.stop.length
    if (end < bestEnd || (end === bestEnd && best !== undefined && start < best.start)) best = { start, stop }
  }
  return best
}

/** The length of the longest suffix of `buffer` that begins a stop string. */
function longestOpenSuffix(buffer: string, stops: readonly string[]): number {
  let longest = 0
  for (const stop of stops) {
    for (let length = Math.min(stop.length - 1, buffer.length); length > longest; length--) {
      if (buffer.endsWith(stop.slice(0, length))) longest = length
    }
  }
  return longest
}
