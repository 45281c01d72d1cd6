import type { Logger } from 'pino'
import { Ring } from '../../base/ring.ts'
import type { LinesPage, LogLines, NumberedLine } from '../../contract/server/activity.ts'

/** The number of lines kept for later readers: under a megabyte. */
const mostLines = 2000
/** Longer lines, such as nested stacks, are truncated, and so are not JSON. */
const maxChars = 8000

export class LineRing implements LogLines {
  readonly #lines = new Ring<string>(mostLines)

  take(json: string): void {
    if (json.length <= maxChars) this.#lines.push(json)
  }

  begin(count: number): number {
    return Math.max(this.#lines.first, this.#lines.count - count)
  }

  read(from: number, limit: number): LinesPage {
    const first = Math.max(from, this.#lines.first)
    const lines: NumberedLine[] = []
    let next = first
    for (; next < this.#lines.count && lines.length < limit; next++)
      lines.push({ number: next, json: this.#lines.at(next) ?? '{}' })
    return { lines, next, missed: Math.max(0, first - from) }
  }
}

const rings = new WeakMap<object, LineRing>()

export function keepLines(log: Logger, ring: LineRing): void {
  rings.set(log, ring)
}

/** The last lines of a log made by `createLog`; undefined for another. */
export function linesOf(log: Logger): LogLines | undefined {
  return rings.get(log)
}
