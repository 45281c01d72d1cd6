/**
 * Splits growing Markdown into final blocks and one that may still change, so that a long answer is not parsed again for each token. A
 * block ends at an empty line, unless the next line belongs to it: in a fence, in a formula, in a list, or indented. Long lists and tables
 * are split, since parsing time grows faster than their length.
 */
export class BlockSplitter {
  /** Complete blocks, which no longer change. */
  readonly closed: string[] = []
  #open = ''
  #line = ''
  #fence: string | undefined
  #formula: { readonly end: string; lines: number } | undefined
  #openLines = 0
  #isAfterBlank = false
  /** The first two lines of the open block, if it is a table. */
  #tableHead: string | undefined

  /** The block that may still change. */
  get open(): string {
    const isNextPart = this.#open === '' && this.#tableHead !== undefined && this.#line !== ''
    return (isNextPart ? this.#tableHead : this.#open) + this.#line
  }

  append(text: string): void {
    const lines = (this.#line + text).split('\n')
    this.#line = lines.pop() ?? ''
    for (const line of lines) this.#take(line)
    // The beginning of a line may show that it belongs to the next block, which then does not begin in this one.
    const isKnown = this.#line !== '' && !/^([-*+]|\d{1,9}[.)]?)$/.test(this.#line)
    const isBlock = this.#fence === undefined && this.#formula === undefined
    if (isKnown && isBlock && this.#isAfterBlank && !this.#belongs(this.#line)) this.#close()
  }

  #take(line: string): void {
    if (this.#fence !== undefined) {
      this.#open += `${line}\n`
      if (endsFence(line, this.#fence)) {
        this.#fence = undefined
        if (startsFence(this.#open)) this.#close()
      }
      return
    }
    if (this.#formula !== undefined) return void this.#takeFormula(line, this.#formula)
    if (line.trim() === '') {
      this.#tableHead = undefined
      this.#isAfterBlank = this.#open !== ''
      this.#open += this.#open === '' ? '' : '\n'
      return
    }
    const fence = /^\s*(`{3,}|~{3,})/.exec(line)?.[1]
    // A fence at the margin is a block of its own.
    const isFence = fence !== undefined && !/^\s/.test(line)
    const isNextList = this.#open.length >= longPart && isListItem(line)
    if (isFence || isNextList || (this.#isAfterBlank && !this.#belongs(line))) this.#close()
    this.#isAfterBlank = false
    if (this.#tableHead !== undefined && this.#open === '') this.#open = this.#tableHead
    this.#open += `${line}\n`
    this.#openLines += 1
    if (fence !== undefined) this.#fence = fence
    else this.#splitTable()
    const end = formulaEnd(line)
    if (end !== undefined) this.#formula = { end, lines: 0 }
  }

  /** A formula may have empty lines. One without an end is text. */
  #takeFormula(line: string, formula: { readonly end: string; lines: number }): void {
    this.#open += `${line}\n`
    formula.lines += 1
    if (!line.includes(formula.end) && formula.lines < longestFormula && this.#open.length < longPart) return
    this.#formula = undefined
    this.#isAfterBlank = line.trim() === ''
  }

  /** Each part has the same head. A long head is not repeated: the parts would be longer than the table. */
  #splitTable(): void {
    if (this.#tableHead === undefined) {
      const isTable = this.#openLines === 2 && this.#open.length < longPart && startsTable(this.#open)
      if (isTable) this.#tableHead = this.#open
    } else if (this.#open.length >= this.#tableHead.length + longPart) {
      this.closed.push(this.#open)
      this.#open = ''
    }
  }

  #belongs(line: string): boolean {
    return /^\s/.test(line) || (isListItem(this.#open) && isListItem(line))
  }

  #close(): void {
    if (this.#open !== '') this.closed.push(this.#open)
    this.#open = ''
    this.#openLines = 0
    this.#isAfterBlank = false
    this.#tableHead = undefined
  }
}

/** Characters of a list or a table after which the next line begins another block. */
const longPart = 4000
/** Lines after which a formula that does not end is text. */
const longestFormula = 60

export function startsFence(block: string): boolean {
  return /^(`{3,}|~{3,})/.test(block)
}

/** Without a regular expression, since a model may write a fence of any length, followed by anything. */
export function endsFence(line: string, fence: string): boolean {
  const text = line.trim()
  return text.startsWith(fence) && text === text.charAt(0).repeat(text.length)
}

/** What ends the formula that begins with this line; undefined: none begins, or it ends in the line. */
function formulaEnd(line: string): string | undefined {
  const begin = /^ {0,3}(\\\[|\$\$)/.exec(line)?.[1]
  if (begin === undefined) return undefined
  const end = begin === '$$' ? '$$' : '\\]'
  return line.indexOf(end, line.indexOf(begin) + 2) < 0 ? end : undefined
}

function startsTable(block: string): boolean {
  const [head = '', delimiters = ''] = block.split('\n')
  return head.includes('|') && delimiters.includes('-') && /^[ :|-]+$/.test(delimiters)
}

function isListItem(text: string): boolean {
  return /^([-*+]|\d{1,9}[.)])\s/.test(text)
}
