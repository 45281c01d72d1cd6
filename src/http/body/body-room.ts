/** Bodies up to this size are not counted, so that short requests pass while long ones wait for room. */
const uncountedBytes = 64 * 1024

/** The memory for the bodies of all requests in flight. */
export class BodyRoom {
  readonly #limitBytes: number
  #usedBytes = 0

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  /** The share of one request, which gives it back with `close`. */
  open(): BodyShare {
    return new BodyShare(this)
  }

  /** Takes room for more bytes, if there is enough; returns whether it did. */
  take(bytes: number): boolean {
    if (this.#usedBytes + bytes > this.#limitBytes) return false
    this.#usedBytes += bytes
    return true
  }

  give(bytes: number): void {
    this.#usedBytes -= bytes
  }
}

/** A class, since an object literal with a getter has no hidden class that requests share. */
export class BodyShare {
  readonly #room: BodyRoom
  #sizeBytes = 0
  #isClosed = false

  constructor(room: BodyRoom) {
    this.#room = room
  }

  get sizeBytes(): number {
    return this.#sizeBytes
  }

  /** Takes room for more bytes, if there is enough; returns whether it did. */
  grow(moreBytes: number): boolean {
    const more = counted(this.#sizeBytes + moreBytes) - counted(this.#sizeBytes)
    if (this.#isClosed || !this.#room.take(more)) return false
    this.#sizeBytes += moreBytes
    return true
  }

  /** Idempotent; nothing grows afterwards. */
  close(): void {
    if (!this.#isClosed) this.#room.give(counted(this.#sizeBytes))
    this.#isClosed = true
  }
}

function counted(sizeBytes: number): number {
  return sizeBytes <= uncountedBytes ? 0 : sizeBytes
}
