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
  /** The first lines of a table, and its rows since they were last written. */
  #table: { readonly head: string; rows: number } | undefined

  /** What may still change. */
  get open(): string {
    const isNextPart = this.#open === '' && this.#table !== undefined && this.#line !== ''
    return (isNextPart ? this.#table?.head : this.#open) + this.#line
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
      this.#table = undefined
      this.#isAfterBlank = this.#open !== ''
      this.#open += this.#open === '' ? '' : '\n'
      return
    }
    const fence = /^\s*(`{3,}|~{3,})/.exec(line)?.[1]
    // A fence at the margin is a block of its own.
    if ((this.#isAfterBlank && !this.#belongs(line)) || (fence !== undefined && !/^\s/.test(line))) this.#close()
    this.#isAfterBlank = false
    if (this.#table !== undefined && this.#open === '') this.#open = this.#table.head
    this.#open += `${line}\n`
    if (fence !== undefined) this.#fence = fence
    else this.#countRow()
  }

  /** A long table becomes several with the same head: reading it takes long. */
  #countRow(): void {
    if (this.#table === undefined) {
      if (/^[^\n]*\|[^\n]*\n[ :|-]*-[ :|-]*\n$/.test(this.#open)) this.#table = { head: this.#open, rows: 0 }
      return
    }
    this.#table.rows += 1
    if (this.#table.rows < longestTable) return
    this.closed.push(this.#open)
    this.#open = ''
    this.#table.rows = 0
  }

  #belongs(line: string): boolean {
    return /^\s/.test(line) || (isListItem(this.#open) && isListItem(line))
  }

  #close(): void {
    if (this.#open !== '') this.closed.push(this.#open)
    this.#open = ''
    this.#isAfterBlank = false
    this.#table = undefined
  }
}

/** Rows of one part. */
const longestTable = 100

export function startsFence(block: string): boolean {
  return /^(`{3,}|~{3,})/.test(block)
}

function isListItem(text: string): boolean {
  return /^([-*+]|\d{1,9}[.)])\s/.test(text)
}
