import { write, writeSync } from 'node:fs'
import type { DestinationStream } from 'pino'

/** The pause before a reader that was busy is tried again. */
const retryMs = 100
/** How long a process that ends waits for a busy reader. */
const endMs = 1000

type Part = { rest: Buffer; readonly lines: number }

/**
 * Writes lines to an open file or pipe. Lines that cannot be written, as on a full disk, are lost, which the next line tells; the log neither
 * fails its process nor keeps it from ending.
 */
export class DescriptorLog implements DestinationStream {
  readonly #fd: number
  readonly #mostChars: number
  #pending = ''
  /** The number of those lines, and of the lost ones that a notice among them counts. */
  #pendingLines = 0
  #part: Part | undefined
  #retry: NodeJS.Timeout | undefined
  #lost = 0
  #why = ''

  /** At most `mostChars` wait for a reader; then further lines are lost. */
  constructor(fd: number, { mostChars = 16 * 1024 * 1024 } = {}) {
    this.#fd = fd
    this.#mostChars = mostChars
    process.once('exit', () => this.flushSync())
  }

  write(line: string): void {
    if (this.#pending.length + line.length > this.#mostChars) this.#lose(1, 'their reader is slow')
    else {
      // The line before may lack its end.
      if (this.#lost > 0) this.#pending += `\n${asLine(`${this.#lost} lines of the log were lost: ${this.#why}`)}\n`
      this.#pendingLines += this.#lost + 1
      this.#lost = 0
      this.#pending += line
    }
    if (this.#part === undefined) this.#next()
  }

  /** Writes what waits, before the process ends. */
  flushSync(): void {
    const untilMs = performance.now() + endMs
    // The system has a part already, unless it is to be tried again.
    const first = this.#retry === undefined ? [] : [this.#part?.rest ?? Buffer.alloc(0)]
    if (this.#retry !== undefined) this.#part = undefined
    clearTimeout(this.#retry)
    this.#retry = undefined
    let rest = Buffer.concat([...first, this.#take().rest])
    while (rest.length > 0) {
      try {
        rest = rest.subarray(writeSync(this.#fd, rest))
      } catch (error) {
        if (!isBusy(error) || performance.now() > untilMs) return
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs)
      }
    }
  }

  #next(): void {
    this.#part = this.#pending === '' ? undefined : this.#take()
    this.#send()
  }

  readonly #send = (): void => {
    this.#retry = undefined
    const part = this.#part
    if (part !== undefined) write(this.#fd, part.rest, (error, bytes) => this.#onWritten(part, { error, bytes }))
  }

  #onWritten(part: Part, { error, bytes }: { readonly error: NodeJS.ErrnoException | null; readonly bytes: number }): void {
    if (error !== null && isBusy(error)) {
      this.#retry = setTimeout(this.#send, retryMs).unref()
      return
    }
    if (error === null && bytes < part.rest.length) {
      part.rest = part.rest.subarray(bytes)
      this.#send()
      return
    }
    if (error !== null) this.#lose(part.lines, error.message)
    this.#next()
  }

  #take(): Part {
    const part = { rest: Buffer.from(this.#pending), lines: this.#pendingLines }
    this.#pending = ''
    this.#pendingLines = 0
    return part
  }

  #lose(lines: number, why: string): void {
    this.#lost += lines
    this.#why = why
  }
}

function asLine(msg: string): string {
  return JSON.stringify({ level: 40, time: Date.now(), pid: process.pid, msg })
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EAGAIN' || error.code === 'EBUSY')
}
