import { LruMap } from '../base/lru-map.ts'
import type { ClaimedLine } from '../contract/server/batches.ts'
import { beginningsOf } from './grouping.ts'

/** A line that shows no sign for this long holds back no others. */
const patienceMs = 120_000
const keptBeginnings = 1000

/** What lines begin with. */
type Beginning = {
  running: number
  /** Since when a line runs. */
  sinceMs: number
  /** Whether an engine has read it, and has it in its cache. */
  isRead: boolean
}

type Ready = { readonly line: ClaimedLine; readonly beginnings: readonly Beginning[] }

/**
 * The claimed lines of a model. It chooses the next so that engines read a beginning once: the first line with it runs alone until its prompt
 * is read, and each slot continues with lines that begin like its last one.
 */
export class LineOrder {
  readonly #ready: Ready[] = []
  readonly #running = new Map<ClaimedLine, Ready>()
  readonly #beginnings = new LruMap<string, Beginning>({ max: keptBeginnings })

  /** The number of lines that have not been taken. */
  get waiting(): number {
    return this.#ready.length
  }

  get lines(): readonly ClaimedLine[] {
    return this.#ready.map(({ line }) => line)
  }

  /** The lines of a batch that have not been taken, by grouping. */
  waitingOf(batchId: string): ReadonlyMap<string, number> {
    const counts = new Map<string, number>()
    for (const { line } of this.#ready) {
      if (line.batchId === batchId) counts.set(line.grouping, (counts.get(line.grouping) ?? 0) + 1)
    }
    return counts
  }

  add(lines: readonly ClaimedLine[]): void {
    const beginningOf = (key: string) => this.#beginnings.find(key, () => ({ running: 0, sinceMs: 0, isRead: false }))
    for (const line of lines) this.#ready.push({ line, beginnings: beginningsOf(line).map(beginningOf) })
  }

  /** The line for a free slot. `isAhead`: it may have to wait for any other, and must suit it. */
  take(nowMs: number, isAhead = false): ClaimedLine | undefined {
    let best: Ready | undefined
    for (const one of this.#ready) {
      if (!one.beginnings.some((beginning) => isHeld(beginning, nowMs)) && (best === undefined || isBefore(one, best))) best = one
    }
    if (best === undefined || (isAhead && !this.#suitsAllSlots(best))) return undefined
    this.#ready.splice(this.#ready.indexOf(best), 1)
    this.#running.set(best.line, best)
    for (const beginning of best.beginnings) {
      if (beginning.running === 0) beginning.sinceMs = nowMs
      beginning.running += 1
    }
    return best.line
  }

  /** The engine has read the line's prompt. */
  read(line: ClaimedLine): void {
    for (const beginning of this.#running.get(line)?.beginnings ?? []) beginning.isRead = true
  }

  ended(line: ClaimedLine): void {
    for (const beginning of this.#running.get(line)?.beginnings ?? []) beginning.running -= 1
    this.#running.delete(line)
  }

  /** Takes out lines that have not been taken. */
  remove(which: (line: ClaimedLine) => boolean): readonly ClaimedLine[] {
    const removed = this.#ready.filter(({ line }) => which(line))
    for (const one of removed) this.#ready.splice(this.#ready.indexOf(one), 1)
    return removed.map(({ line }) => line)
  }

  /** Whether no slot that becomes free has the beginning of another line that waits. */
  #suitsAllSlots({ beginnings }: Ready): boolean {
    const own = beginnings.at(-1)
    return this.#ready.every(({ beginnings: others }) => others.at(-1) === own || others.at(-1)?.running === 0)
  }
}

function isHeld({ running, isRead, sinceMs }: Beginning, nowMs: number): boolean {
  return running > 0 && !isRead && nowMs - sinceMs < patienceMs
}

/** Slots are spread over beginnings, what they share first; of equals, one that a free slot has. */
function isBefore(one: Ready, other: Ready): boolean {
  for (const [level, beginning] of one.beginnings.entries()) {
    const than = other.beginnings[level]
    if (than === undefined || beginning === than) continue
    if (beginning.running !== than.running) return beginning.running < than.running
    if (beginning.isRead !== than.isRead) return beginning.isRead
  }
  return false
}
