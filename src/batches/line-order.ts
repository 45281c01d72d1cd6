import { LruMap } from '../base/lru-map.ts'
import type { ClaimedLine } from '../contract/server/batches.ts'
import { beginningsOf } from './grouping.ts'
import { isWorthReading, noteLine, noteRead, type ReadingCost, SeparateSlots } from './separate-slots.ts'

/** A line that shows no sign for this long holds back no others. */
const patienceMs = 120_000
const keptBeginnings = 1000

/** What lines begin with. */
type Beginning = ReadingCost & {
  running: number
  /** Since when a line runs. */
  sinceMs: number
  /** Whether an engine has read it, and has it in its cache. */
  isRead: boolean
}

type Ready = { readonly line: ClaimedLine; readonly beginnings: readonly Beginning[] }
type Running = Ready & {
  readonly takenMs: number
  /** Whether its slot did not have its beginning. */
  readonly reads: boolean
  readMs?: number
}

type TakeOptions = {
  /** The line may have to wait for any other, and must suit it. */
  readonly isAhead?: boolean
  /** How many lines of a batch wait in the store, where the slots share no caches. */
  more?(batchId: string): number
}

/**
 * The claimed lines of a model. It chooses the next so that engines read a beginning once: the first line with it runs alone until its prompt
 * is read, and each slot continues with lines that begin like its last one. Where slots share no caches, another one reads it only if that
 * pays.
 */
export class LineOrder {
  readonly #ready: Ready[] = []
  readonly #running = new Map<ClaimedLine, Running>()
  readonly #slots = new SeparateSlots<Beginning>()
  readonly #beginnings = new LruMap<string, Beginning>({ max: keptBeginnings })
  /** The number of slots that share no caches; undefined: they do. */
  separateSlots: number | undefined

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

  /** The line for a free slot. */
  take(nowMs: number, { isAhead = false, more = () => 0 }: TakeOptions = {}): ClaimedLine | undefined {
    const seen = new Set<Beginning>()
    let best: Ready | undefined
    for (const one of this.#ready) {
      const own = lastOf(one)
      // The first one of lines that begin alike.
      if (seen.has(own)) continue
      seen.add(own)
      if (this.#mayRun(one, nowMs, more) && (best === undefined || this.#isBefore(one, best))) best = one
    }
    if (best === undefined || (isAhead && !this.#suitsAllSlots(best))) return undefined
    this.#ready.splice(this.#ready.indexOf(best), 1)
    const own = lastOf(best)
    this.#running.set(best.line, { ...best, takenMs: nowMs, reads: !this.#slots.has(own) })
    if (this.separateSlots !== undefined) {
      this.#slots.take(own, { all: this.separateSlots, running: this.#running.size - 1 })
    }
    for (const beginning of best.beginnings) {
      if (beginning.running === 0) beginning.sinceMs = nowMs
      beginning.running += 1
    }
    return best.line
  }

  /** The engine has read the line's prompt. */
  read(line: ClaimedLine, nowMs: number): void {
    const one = this.#running.get(line)
    if (one === undefined || one.readMs !== undefined) return
    one.readMs = nowMs
    if (one.reads) noteRead(lastOf(one), nowMs, nowMs - one.takenMs)
    for (const beginning of one.beginnings) beginning.isRead = true
  }

  ended(line: ClaimedLine, nowMs: number): void {
    const one = this.#running.get(line)
    if (one === undefined) return
    this.#running.delete(line)
    for (const beginning of one.beginnings) beginning.running -= 1
    if (one.readMs !== undefined) noteLine(lastOf(one), nowMs - one.readMs)
    if (this.separateSlots !== undefined) {
      this.#slots.free(lastOf(one), { all: this.separateSlots, running: this.#running.size })
    }
  }

  /** Takes out lines that have not been taken. */
  remove(which: (line: ClaimedLine) => boolean): readonly ClaimedLine[] {
    const removed = this.#ready.filter(({ line }) => which(line))
    for (const one of removed) this.#ready.splice(this.#ready.indexOf(one), 1)
    return removed.map(({ line }) => line)
  }

  #mayRun(one: Ready, nowMs: number, more: (batchId: string) => number): boolean {
    if (one.beginnings.some((beginning) => isHeld(beginning, nowMs))) return false
    const own = lastOf(one)
    if (this.separateSlots === undefined || own.running === 0 || this.#slots.has(own)) return true
    const { batchId } = one.line
    const ofBatch = this.#ready.filter(({ line }) => line.batchId === batchId)
    const alike = ofBatch.filter((other) => lastOf(other) === own).length
    const left = alike + (more(batchId) * alike) / ofBatch.length
    return isWorthReading(own, { left, busy: this.#running.size, nowMs })
  }

  /** A slot that has the beginning comes first, where it shares nothing; else slots are spread over beginnings, what they share first. */
  #isBefore(one: Ready, other: Ready): boolean {
    const isKept = this.#slots.has(lastOf(one))
    return isKept === this.#slots.has(lastOf(other)) ? isBefore(one, other) : isKept
  }

  /** Whether no slot that becomes free has the beginning of another line that waits, or reads this one's again. */
  #suitsAllSlots(one: Ready): boolean {
    const own = lastOf(one)
    const isSame = (other: Ready) => lastOf(other) === own
    if (this.separateSlots !== undefined && ![...this.#running.values()].every(isSame)) return false
    return this.#ready.every((other) => isSame(other) || lastOf(other).running === 0)
  }
}

/** The longest beginning. */
function lastOf({ beginnings }: Ready): Beginning {
  return beginnings.at(-1) as Beginning
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
