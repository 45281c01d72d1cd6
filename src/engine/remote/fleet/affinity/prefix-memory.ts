/** A prefix of a prompt: a 64-bit hash in two halves. */
export type PrefixKey = { readonly high: number; readonly low: number }

type PrefixMemoryOptions = {
  /** The number of endpoints remembered for each prefix. */
  readonly holders: number
  /** The minimum capacity, in pairs of a prefix and an endpoint. */
  readonly room: number
}

/** A record is four numbers: the two halves of its key, its holder with a flag, and the time of last use. */
const recordSize = 4
/** Records in one bucket. The oldest is replaced. */
const ways = 32
const flag = 0x8000_0000
const tickMs = 100
const forgetAfterMs = 600_000
const mostRecords = (64 * 1024 * 1024) / (recordSize * 4)

/**
 * Records which endpoints have seen which prefixes, and when. A table of fixed size, so that a million prefixes do not burden the garbage
 * collector. Endpoints are numbered from 1 to 2³¹ - 1.
 */
export class PrefixMemory {
  readonly #holders: number
  #records: Uint32Array
  #bucketMask: number

  constructor({ holders, room }: PrefixMemoryOptions) {
    this.#holders = holders
    this.#records = recordsFor(room)
    this.#bucketMask = maskOf(this.#records)
  }

  /** The number of records. */
  get room(): number {
    return this.#records.length / recordSize
  }

  /** Increases the capacity and keeps the records. */
  grow(room: number): void {
    const before = this.#records
    const records = recordsFor(room)
    if (records.length <= before.length) return
    this.#records = records
    this.#bucketMask = maskOf(records)
    for (let at = 0; at < before.length; at += recordSize) {
      const holder = before[at + 2] as number
      if (holder !== 0)
        this.#write({ high: before[at] as number, low: before[at + 1] as number }, holder & ~flag, before[at + 3] as number)
    }
  }

  /** The endpoints that have seen a prefix in the last ten minutes. */
  holdersOf({ high, low }: PrefixKey, nowMs: number): number[] {
    const records = this.#records
    const oldest = tickOf(nowMs - forgetAfterMs)
    const found: number[] = []
    const start = this.#bucketOf(low)
    for (let at = start; at < start + ways * recordSize; at += recordSize) {
      if (records[at] !== high || records[at + 1] !== low) continue
      const holder = (records[at + 2] as number) & ~flag
      if (holder !== 0 && (records[at + 3] as number) >= oldest) found.push(holder)
    }
    return found
  }

  /** Records that the endpoint sees the prefix now. */
  note(key: PrefixKey, holder: number, nowMs: number): void {
    this.#write(key, holder, tickOf(nowMs))
  }

  /** Records that the endpoint had the prefix in its cache. */
  confirm(key: PrefixKey, holder: number): void {
    const at = this.#find(key, holder)
    if (at !== undefined) this.#records[at + 2] = holder
  }

  /** Records that the endpoint did not have the prefix in its cache. The second time in a row removes the pair. */
  doubt(key: PrefixKey, holder: number): void {
    const at = this.#find(key, holder)
    if (at === undefined) return
    const isDoubted = ((this.#records[at + 2] as number) & flag) !== 0
    this.#records[at + 2] = isDoubted ? 0 : (holder | flag) >>> 0
  }

  #bucketOf(low: number): number {
    return (low & this.#bucketMask) * ways * recordSize
  }

  #find({ high, low }: PrefixKey, holder: number): number | undefined {
    const records = this.#records
    const start = this.#bucketOf(low)
    for (let at = start; at < start + ways * recordSize; at += recordSize) {
      if (records[at] === high && records[at + 1] === low && ((records[at + 2] as number) & ~flag) === holder) return at
    }
    return undefined
  }

  #write(key: PrefixKey, holder: number, tick: number): void {
    const records = this.#records
    const known = this.#find(key, holder)
    if (known !== undefined) {
      records[known + 3] = tick
      return
    }
    const at = this.#placeFor(key)
    records[at] = key.high
    records[at + 1] = key.low
    records[at + 2] = holder
    records[at + 3] = tick
  }

  /** The index of an empty record or of the oldest one; if the prefix has enough holders, of its own oldest one. */
  #placeFor({ high, low }: PrefixKey): number {
    const records = this.#records
    const start = this.#bucketOf(low)
    let oldest = start
    let oldestSame = start
    let same = 0
    const tickAt = (at: number) => (records[at + 2] === 0 ? -1 : (records[at + 3] as number))
    for (let at = start; at < start + ways * recordSize; at += recordSize) {
      if (tickAt(at) < tickAt(oldest)) oldest = at
      if (records[at] !== high || records[at + 1] !== low || records[at + 2] === 0) continue
      if (same === 0 || tickAt(at) < tickAt(oldestSame)) oldestSame = at
      same += 1
    }
    return same >= this.#holders ? oldestSame : oldest
  }
}

function recordsFor(room: number): Uint32Array {
  let records = ways
  while (records < room && records < mostRecords) records *= 2
  return new Uint32Array(records * recordSize)
}

function maskOf(records: Uint32Array): number {
  return records.length / (recordSize * ways) - 1
}

/** Never 0 for a time after the clock's start. */
function tickOf(ms: number): number {
  return Math.max(0, Math.floor(ms / tickMs) + 1)
}
