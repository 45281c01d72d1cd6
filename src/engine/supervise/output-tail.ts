import type { Readable } from 'node:stream'

const keptLines = 40
const longestLine = 500
/** As llama.cpp writes them when it aborts: more than are kept, and they tell users nothing. */
const stackFrame = /\[0x[0-9a-f]+\]$|^#\d+ /

/** The last lines that a process wrote, without those of a stack; long lines are truncated. */
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

  /** All that comes from these streams. */
  read(...streams: readonly (Readable | null)[]): void {
    for (const stream of streams) stream?.setEncoding('utf8').on('data', (text: string) => this.push(text))
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
    this.#onLine(line)
    if (stackFrame.test(line)) return
    this.#lines.push(line)
    if (this.#lines.length > keptLines) this.#lines.shift()
  }
}
