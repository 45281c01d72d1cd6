import { AppError } from '../contract/errors.ts'

const retryAfterMs = 1000

/** The memory for media that were fetched or read, over all requests. */
export class MemoryRoom {
  readonly #limitBytes: number
  #usedBytes = 0

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  /** The share of one request. `grow` throws `overloaded` without room; `close` gives everything back, once. */
  open(): { grow(moreBytes: number): void; close(): void } {
    let sizeBytes = 0
    let isClosed = false
    return {
      grow: (moreBytes) => {
        if (isClosed) throw new Error('the request has ended, and its memory is given back')
        if (this.#usedBytes + moreBytes > this.#limitBytes) {
          const message = 'the media of the requests in flight fill the memory that they may use (media.memoryBytes); try again'
          throw new AppError('overloaded', message, { retryAfterMs })
        }
        this.#usedBytes += moreBytes
        sizeBytes += moreBytes
      },
      close: () => {
        if (!isClosed) this.#usedBytes -= sizeBytes
        isClosed = true
      },
    }
  }
}
