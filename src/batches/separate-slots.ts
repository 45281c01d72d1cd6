/** What is known of what lines begin with. */
export type ReadingCost = {
  /** The lines that run. */
  readonly running: number
  /** What reading it took the last time, and when it was read. */
  readMs?: number
  readAtMs?: number
  /** What its lines take after their prompts are read, on average. */
  lineMs?: number
}

/** The part of the last line in an average. */
const newest = 0.2
/** A slot's part of the lines that are left takes at least this many times as long as reading their beginning once more. */
const worthReading = 5

/** The slots of a server that share no caches: what the free ones have, the oldest first, which is the order in which it overwrites them. */
export class SeparateSlots<T extends ReadingCost> {
  #kept: T[] = []

  has(beginning: T): boolean {
    return this.#kept.includes(beginning)
  }

  /** A line takes a free one of all slots, of which `running` others are taken. */
  take(beginning: T, { all, running }: { readonly all: number; readonly running: number }): void {
    const at = this.#kept.lastIndexOf(beginning)
    if (at >= 0) this.#kept.splice(at, 1)
    this.#keep(all - running - 1)
  }

  free(beginning: T, { all, running }: { readonly all: number; readonly running: number }): void {
    this.#kept.push(beginning)
    this.#keep(all - running)
  }

  #keep(count: number): void {
    this.#kept.splice(0, Math.max(0, this.#kept.length - Math.max(0, count)))
  }
}

export function noteRead(beginning: ReadingCost, nowMs: number, readMs: number): void {
  beginning.readMs = readMs
  beginning.readAtMs = nowMs
}

export function noteLine(beginning: ReadingCost, ms: number): void {
  beginning.lineMs = beginning.lineMs === undefined ? ms : beginning.lineMs * (1 - newest) + ms * newest
}

/**
 * Whether another slot is worth reading a beginning again, with this many lines left: also where slots only divide what the server can do, and
 * each of the `busy` ones makes the others slower.
 */
export function isWorthReading(
  { running, readMs, readAtMs, lineMs }: ReadingCost,
  { left, busy, nowMs }: { readonly left: number; readonly busy: number; readonly nowMs: number },
): boolean {
  if (readMs === undefined || readAtMs === undefined) return false
  // Until the first line has ended, it has taken at least this time.
  return ((left / (running + 1)) * (lineMs ?? nowMs - readAtMs)) / busy >= readMs * worthReading
}
