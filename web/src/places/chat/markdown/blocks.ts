/**
 * Splits growing Markdown into blocks that cannot change any more and one that still may, so that a long answer is not read anew for each
 * token. A block ends at an empty line, unless the next one belongs to it: in a fence, in a list, or indented.
 */
export class BlockSplitter {
  /** Complete; they never change. */
  readonly closed: string[] = []
  #open = ''
  #line = ''
  #fence: string | undefined
  #isAfterBlank = false

  /** What may still change. */
  get open(): string {
    return this.#open + this.#line
  }

  append(text: string): void {
    const lines = (this.#line + text).split('\n')
    this.#line = lines.pop() ?? ''
    for (const line of lines) this.#take(line)
  }

  #take(line: string): void {
    if (this.#fence !== undefined) {
      this.#open += `${line}\n`
      if (new RegExp(`^\\s*${this.#fence}+\\s*$`).test(line)) {
        this.#fence = undefined
        if (startsFence(this.#open)) this.#close()
      }
      return
    }
    if (line.trim() === '') {
      this.#isAfterBlank = this.#open !== ''
      this.#open += this.#open === '' ? '' : '\n'
      return
    }
    const fence = /^\s*(`{3,}|~{3,})/.exec(line)?.[1]
    // A fence at the margin is a block of its own.
    if ((this.#isAfterBlank && !this.#belongs(line)) || (fence !== undefined && !/^\s/.test(line))) this.#close()
    this.#isAfterBlank = false
    this.#open += `${line}\n`
    if (fence !== undefined) this.#fence = fence
  }

  #belongs(line: string): boolean {
    return /^\s/.test(line) || (isListItem(this.#open) && isListItem(line))
  }

  #close(): void {
    if (this.#open !== '') this.closed.push(this.#open)
    this.#open = ''
    this.#isAfterBlank = false
  }
}

export function startsFence(block: string): boolean {
  return /^(`{3,}|~{3,})/.test(block)
}

function isListItem(text: string): boolean {
  return /^([-*+]|\d{1,9}[.)])\s/.test(text)
}
