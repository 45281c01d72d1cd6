import type { TagPosition } from '../formats/tool-format.ts'
import type { ChoiceSink } from '../scan/choice-sink.ts'
import { isQuote, isSpace } from '../scan/text-feed.ts'
import { CodeTracker } from './code-tracker.ts'

/**
 * The position of an answer's text. In every state but `in-text` no visible character has arrived yet, and white space is held, except at
 * the start of an answer that can have neither calls nor reasoning:
 * - at the `start`, and `after-reasoning`, it is text, even if nothing else follows
 * - `after-call` it is text only in front of more text
 * - `after-spaced-call` it is never text: white space in front of the call already separates the words
 */
type AnswerState = 'start' | 'after-reasoning' | 'after-call' | 'after-spaced-call' | 'in-text'

/** Writes the text of an answer, apart from its calls and its reasoning, and decides which white space around those is text. */
export class AnswerWriter {
  /** The code blocks and spans of the text. */
  readonly code = new CodeTracker()
  readonly #sink: ChoiceSink
  readonly #holdsSpace: boolean
  /** In a block of calls whose end was not read: the rules for the start of an answer apply. */
  inBlock = false
  #state: AnswerState = 'start'
  #heldSpace = ''
  /** The last character written, while `in-text`. */
  #last = ''

  /** `holdsSpace`: white space may turn out to precede reasoning or a call, where it is not text. */
  constructor(sink: ChoiceSink, { holdsSpace = true }: { readonly holdsSpace?: boolean } = {}) {
    this.#sink = sink
    this.#holdsSpace = holdsSpace
  }

  /** No visible text has arrived since the last call. */
  get isAfterCall(): boolean {
    return this.#state === 'after-call' || this.#state === 'after-spaced-call'
  }

  /** Neither text nor a call has arrived yet. */
  get isEmpty(): boolean {
    return this.#state === 'start'
  }

  /** Whether the next tag counts in this position. */
  allows(position: TagPosition): boolean {
    const isInText = this.#state === 'in-text'
    switch (position) {
      case 'anywhere':
        return true
      case 'unquoted':
        return !isInText || !isQuote(this.#last)
      case 'start':
        return !isInText || (this.inBlock && !isQuote(this.#last))
      case 'line':
        return !isInText || this.#last === '\n'
    }
  }

  write(text: string): void {
    if (this.#state !== 'in-text') {
      this.#begin(text)
      return
    }
    this.#last = text.at(-1) ?? ''
    this.code.push(text)
    this.#sink.text(text)
  }

  callEnded(): void {
    this.code.newLine()
    const isSpaced = this.#state === 'in-text' ? isSpace(this.#last) : this.#state === 'after-spaced-call'
    this.#state = isSpaced ? 'after-spaced-call' : 'after-call'
    this.#heldSpace = ''
  }

  /** White space in front of reasoning is not text. */
  reasoningStarted(): void {
    this.#heldSpace = ''
  }

  reasoningEnded(): void {
    if (this.#state !== 'start') this.#state = 'after-reasoning'
  }

  /** No more text follows. */
  end(): void {
    if (this.#state === 'start' || this.#state === 'after-reasoning') this.#sink.text(this.#heldSpace)
  }

  /** Holds white space until the first visible character arrives, or writes it. */
  #begin(text: string): void {
    const visible = firstVisible(text)
    if (!this.#holdsSpace) {
      const space = text.slice(0, visible)
      this.code.push(space)
      if (space !== '') this.#sink.text(space)
      if (visible === text.length) return
      this.#state = 'in-text'
      this.write(text.slice(visible))
      return
    }
    this.#heldSpace += text.slice(0, visible)
    if (visible === text.length) return
    const space = this.#state === 'after-spaced-call' ? '' : this.#heldSpace
    this.#state = 'in-text'
    this.#heldSpace = ''
    this.write(space + text.slice(visible))
  }
}

function firstVisible(text: string): number {
  let at = 0
  while (at < text.length && isSpace(text[at] as string)) at += 1
  return at
}
