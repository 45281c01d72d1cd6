/** The text that one more piece makes certain, and the stop sequence that it completed, if any. */
export type StopStep = { readonly text: string; readonly stopSequence?: string }

/**
 * Ends a stream of text before the first stop sequence to be completed, also when it spans pieces. Text that may still become
 * a stop sequence is held back, so no part of one is ever output, and the split of the text makes no difference.
 */
export class StopSequences {
  readonly #sequences: readonly string[]
  #held = ''

  constructor(sequences: readonly string[]) {
    this.#sequences = sequences
  }

  /** Returns the text that is now certain. After a step with a stop sequence nothing may be pushed. */
  push(text: string): StopStep {
    if (this.#sequences.length === 0) return { text }
    const buffer = this.#held + text
    const match = firstCompleted(buffer, this.#sequences)
    if (match !== undefined) {
      this.#held = ''
      return { text: buffer.slice(0, match.start), stopSequence: match.sequence }
    }
    const certain = buffer.length - longestOpenSuffix(buffer, this.#sequences)
    this.#held = buffer.slice(certain)
    return { text: buffer.slice(0, certain) }
  }

  /** The held text, at the end. */
  end(): string {
    const rest = this.#held
    this.#held = ''
    return rest
  }
}

type Match = { readonly start: number; readonly sequence: string }

/** The sequence that ends first; of two that end together, the longer. The same as if the text came letter by letter. */
function firstCompleted(buffer: string, sequences: readonly string[]): Match | undefined {
  let best: Match | undefined
  for (const sequence of sequences) {
    const start = buffer.indexOf(sequence)
    if (start === -1) continue
    const end = start + sequence.length
    const bestEnd = best === undefined ? Number.POSITIVE_INFINITY : best.start + best.sequence.length
    if (end < bestEnd || (end === bestEnd && best !== undefined && start < best.start)) best = { start, sequence }
  }
  return best
}

/** The length of the longest suffix of `buffer` that begins a stop sequence. */
function longestOpenSuffix(buffer: string, sequences: readonly string[]): number {
  let longest = 0
  for (const sequence of sequences) {
    for (let length = Math.min(sequence.length - 1, buffer.length); length > longest; length--) {
      if (buffer.endsWith(sequence.slice(0, length))) longest = length
    }
  }
  return longest
}
