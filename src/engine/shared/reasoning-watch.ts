import type { OutputFormat } from '../../contract/output-format.ts'

/**
 * Follows a model's text token by token, to count and to limit its reasoning: the block that the output begins with, or that the prompt
 * opened.
 */
export class ReasoningWatch {
  readonly #tags: { readonly open: string; readonly close: string }
  #state: 'before' | 'inside' | 'after'
  /** The end of the text, up to the length of an incomplete tag. */
  #tail = ''
  #tokens = 0

  constructor(tags: { readonly open: string; readonly close: string }, startsInReasoning: boolean) {
    this.#tags = tags
    this.#state = startsInReasoning ? 'inside' : 'before'
  }

  /** The tokens between the tags so far. */
  get tokens(): number {
    return this.#tokens
  }

  get inside(): boolean {
    return this.#state === 'inside'
  }

  /** Adds one token, with the text that it completed. */
  push(text: string): void {
    if (this.#state === 'before') this.#lookForOpen(text)
    else if (this.#state === 'inside') this.#lookForClose(text)
  }

  #lookForOpen(text: string): void {
    this.#tail = (this.#tail + text).trimStart()
    const { open } = this.#tags
    if (this.#tail.startsWith(open.trim())) {
      this.#state = 'inside'
      const rest = this.#tail.slice(open.trim().length)
      this.#tail = ''
      if (rest !== '') this.#lookForClose(rest)
    } else if (!open.trim().startsWith(this.#tail)) {
      this.#state = 'after'
    }
  }

  #lookForClose(text: string): void {
    const { close } = this.#tags
    const seen = this.#tail + text
    if (seen.includes(close.trim())) {
      this.#state = 'after'
      return
    }
    this.#tail = seen.slice(-close.length)
    this.#tokens += 1
  }
}

/** A watch for an output of this format; `undefined` for a format without reasoning. */
export function watchReasoning(format: OutputFormat | undefined): ReasoningWatch | undefined {
  return format?.reasoning === undefined ? undefined : new ReasoningWatch(format.reasoning, format.startsInReasoning)
}
