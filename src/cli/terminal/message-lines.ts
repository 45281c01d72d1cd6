/** The user's input: one message, or one command. */
export type TypedText = {
  readonly text: string
  /** The input was in triple quotes: it is a message, even with a slash. */
  readonly isQuoted: boolean
}

const quotes = '"""'

/** Joins lines that a terminal sends together to what the user meant to send: pure, so that no test needs a terminal. */
export class MessageLines {
  readonly #lines: string[] = []

  get isEmpty(): boolean {
    return this.#lines.length === 0
  }

  add(line: string): void {
    this.#lines.push(line)
  }

  discard(): void {
    this.#lines.length = 0
  }

  /** Takes the lines so far as one text; undefined without any, or while triple quotes are open, which may end in a later line. */
  take(): TypedText | undefined {
    if (this.#lines.length === 0) return undefined
    const text = this.#lines.join('\n')
    const begun = text.trimStart()
    if (!begun.startsWith(quotes)) return this.#ended({ text, isQuoted: false })
    const end = begun.indexOf(quotes, quotes.length)
    if (end === -1) return undefined
    // Code that begins with a docstring continues after it: it is a message as it stands.
    const isWhole = begun.slice(end + quotes.length).trim() === ''
    return this.#ended(isWhole ? { text: begun.slice(quotes.length, end).trim(), isQuoted: true } : { text, isQuoted: false })
  }

  #ended(typed: TypedText): TypedText {
    this.discard()
    return typed
  }
}
