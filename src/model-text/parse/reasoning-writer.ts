import type { ChoiceSink } from '../scan/choice-sink.ts'
import { isSpace } from '../scan/text-feed.ts'

/** Writes one stretch of reasoning, without the line breaks in front of it and the white space between it and its closing tag. */
export class ReasoningWriter {
  readonly #sink: ChoiceSink
  #hasText = false
  /** White space that is part of the reasoning only if more of it follows. */
  #heldSpace = ''

  constructor(sink: ChoiceSink) {
    this.#sink = sink
  }

  write(text: string): void {
    const end = lastVisible(text)
    if (end === 0) {
      this.#heldSpace += text
      return
    }
    const certain = this.#heldSpace + text.slice(0, end)
    this.#sink.reasoning(this.#hasText ? certain : certain.replace(/^[\r\n]+/, ''))
    this.#hasText = true
    this.#heldSpace = text.slice(end)
  }

  /** Ends reasoning that has no closing tag: the white space at its end is part of it. */
  endUnclosed(): void {
    if (this.#hasText) this.#sink.reasoning(this.#heldSpace)
  }
}

/** The position after the last character that is not white space. */
function lastVisible(text: string): number {
  let at = text.length
  while (at > 0 && isSpace(text[at - 1] as string)) at -= 1
  return at
}
