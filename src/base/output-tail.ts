const keptLines = 40
const longestLine = 500
/** Native programs print these when they abort: more lines than are kept, and useless to users. */
const stackFrame = /\[0x[0-9a-f]+\]$|^#\d+ /

/** A readable stream of Node.js. */
type Source = { setEncoding(encoding: 'utf8'): { on(event: 'data', onText: (text: string) => void): unknown } }

/** The text of a stream's current line so far. */
type OpenLine = { text: string }

/** The last lines that a process wrote, without stack frames. Long lines are truncated, even unfinished ones, so that memory is bounded. */
export class OutputTail {
  readonly #onLine: (line: string) => void
  readonly #lines: string[] = []
  readonly #pushed: OpenLine = { text: '' }
  readonly #open: OpenLine[] = [this.#pushed]

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine
  }

  get lines(): readonly string[] {
    return [...this.#lines, ...this.#open.map(({ text }) => text).filter((text) => text.trim() !== '')]
  }

  /** Reads these streams; the lines of each stay whole, even if others write at the same time. */
  read(...streams: readonly (Source | null)[]): void {
    for (const stream of streams) {
      const open = { text: '' }
      this.#open.push(open)
      stream?.setEncoding('utf8').on('data', (text: string) => this.#add(text, open))
    }
  }

  push(text: string): void {
    this.#add(text, this.#pushed)
  }

  #add(text: string, open: OpenLine): void {
    const [first = '', ...others] = text.split(/\r?\n/)
    extend(open, first)
    for (const piece of others) {
      this.#close(open)
      extend(open, piece)
    }
  }

  #close(open: OpenLine): void {
    const line = open.text
    open.text = ''
    if (line.trim() === '') return
    this.#onLine(line)
    if (stackFrame.test(line)) return
    this.#lines.push(line)
    if (this.#lines.length > keptLines) this.#lines.shift()
  }
}

function extend(open: OpenLine, piece: string): void {
  open.text = (open.text + piece).slice(0, longestLine)
}
