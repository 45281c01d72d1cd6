const backtick = 0x60
const lineEnd = 0x0a

/**
 * Follows Markdown in a text to recognize code: a fence, from a line that begins with three backticks or tildes to one that ends it or to
 * the end of the text, or a code span, between runs of equally many backticks. An unclosed span is not code.
 */
export class CodeTracker {
  #fence: { readonly char: string; readonly length: number } | undefined
  /** The fence was opened on this line. */
  #onFenceLine = false
  /** Backticks of a span that was opened on this line but not closed. */
  #span = 0
  #runChar = ''
  #runLength = 0
  #runAtLineStart = false
  #atLineStart = true

  push(text: string): void {
    for (let at = 0; at < text.length; at++) {
      const char = text[at] as string
      if (char === this.#runChar) {
        this.#runLength += 1
        continue
      }
      this.#endRun(char)
      if (char === '`' || (char === '~' && this.#atLineStart)) {
        this.#runChar = char
        this.#runLength = 1
        this.#runAtLineStart = this.#atLineStart
        this.#atLineStart = false
      } else if (char === '\n') this.newLine()
      else if (!this.#atLineStart || (char !== ' ' && char !== '\t')) {
        this.#atLineStart = false
        at = lastBefore(text, at)
      }
    }
  }

  /** The next text begins a line, outside any span. */
  newLine(): void {
    this.#endRun('\n')
    this.#span = 0
    this.#onFenceLine = false
    this.#atLineStart = true
  }

  /** Whether the next text is in a fence. */
  get inFence(): boolean {
    this.#endRun('')
    return this.#fence !== undefined
  }

  /** The number of backticks that would close the span at the end of the text; 0 outside a span. */
  get openSpan(): number {
    this.#endRun('')
    return this.#fence === undefined ? this.#span : 0
  }

  /** The open span is never closed: its backticks are text. */
  dropSpan(): void {
    this.#span = 0
  }

  #endRun(next: string): void {
    const [char, length] = [this.#runChar, this.#runLength]
    if (length === 0) return
    this.#runChar = ''
    this.#runLength = 0
    const fence = this.#fence
    if (fence !== undefined) {
      // A word after it would be the head of another fence.
      const isLine = this.#runAtLineStart && !/\w/.test(next)
      // On the line of its opening it is only a span of three backticks.
      if (char === fence.char && length >= fence.length && (isLine || this.#onFenceLine)) this.#fence = undefined
    } else if (this.#runAtLineStart && length >= 3) {
      this.#fence = { char, length }
      this.#onFenceLine = true
    } else if (char !== '`') return
    else if (this.#span === 0) this.#span = length
    else if (this.#span === length) this.#span = 0
  }
}

/** The last character before the next backtick or line end; reading each character as a text of its own takes ten times as long. */
function lastBefore(text: string, from: number): number {
  let at = from + 1
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === backtick || code === lineEnd) break
  }
  return at - 1
}

/** The end of the run of exactly `length` backticks that closes a span, from `from` on; -1 when its paragraph ends first. */
export function spanEnd(text: string, from: number, length: number): number {
  const run = /`+|\n[ \t\r]*\n/g
  run.lastIndex = from
  for (let found = run.exec(text); found !== null; found = run.exec(text)) {
    if (found[0][0] !== '`') return -1
    if (found[0].length === length) return found.index + length
  }
  return -1
}
