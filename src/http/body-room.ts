/** Bodies up to this size are not counted, so that short requests pass while long ones wait for room. */
const uncountedBytes = 64 * 1024

/** The memory for the bodies of all requests in flight. */
export class BodyRoom {
  readonly #limitBytes: number
  #usedBytes = 0

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  /** The share of one request, which it gives back with `close`. */
  open(): BodyShare {
    let sizeBytes = 0
    let isClosed = false
    return {
      get sizeBytes() {
        return sizeBytes
      },
      grow: (moreBytes) => {
        const more = counted(sizeBytes + moreBytes) - counted(sizeBytes)
        if (isClosed || this.#usedBytes + more > this.#limitBytes) return false
        this.#usedBytes += more
        sizeBytes += moreBytes
        return true
      },
      close: () => {
        if (!isClosed) this.#usedBytes -= counted(sizeBytes)
        isClosed = true
      },
    }
  }
}

export type BodyShare = {
  /** What was taken. */
  readonly sizeBytes: number
  /** Whether there is room for more bytes; if so, they are taken. */
  grow(moreBytes: number): boolean
  /** Idempotent; nothing grows afterwards. */
  close(): void
}

function counted(sizeBytes: number): number {
  return sizeBytes <= uncountedBytes ? 0 : sizeBytes
}
