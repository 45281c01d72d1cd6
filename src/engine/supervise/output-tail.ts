const keptLines = 40
const longestLine = 500

/** The last lines that a process wrote; long lines are truncated. */
export class OutputTail {
  readonly #onLine: (line: string) => void
  readonly #lines: string[] = []
  #open = ''

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine
  }

  get lines(): readonly string[] {
    return this.#open.trim() === '' ? this.#lines : [...this.#lines, this.#open]
  }

  push(text: string): void {
    const [first = '', ...others] = text.split(/\r?\n/)
    this.#extend(first)
    for (const piece of others) {
      this.#close()
      this.#extend(piece)
    }
  }

  #extend(piece: string): void {
    this.#open = (this.#open + piece).slice(0, longestLine)
  }

  #close(): void {
    const line = this.#open
    this.#open = ''
    if (line.trim() === '') return
    this.#lines.push(line)
    if (this.#lines.length > keptLines) this.#lines.shift()
    this.#onLine(line)
  }
}
