import type { OutputFormat } from '../contract/output-format.ts'

/**
 * Follows a model's text into its reasoning and out of it, token by token: for counting, and for ending it. Reasoning is
 * the block that the output begins with, or that the prompt had opened.
 */
export class ReasoningWatch {
  readonly #tags: { readonly open: string; readonly close: string }
  #state: 'before' | 'inside' | 'after'
  /** The end of the text: as much as a mark that is not complete may need. */
  #tail = ''
  #tokens = 0

  constructor(tags: { readonly open: string; readonly close: string }, startsInReasoning: boolean) {
    this.#tags = tags
    this.#state = startsInReasoning ? 'inside' : 'before'
  }

  /** Tokens between the marks, so far. */
  get tokens(): number {
    return this.#tokens
  }

  get inside(): boolean {
    return this.#state === 'inside'
  }

  /** One more token, with the text that it made certain. */
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

/** A watch for an output that is read this way; none where there is no reasoning to look for. */
export function watchReasoning(format: OutputFormat | undefined): ReasoningWatch | undefined {
  return format?.reasoning === undefined ? undefined : new ReasoningWatch(format.reasoning, format.startsInReasoning)
}
