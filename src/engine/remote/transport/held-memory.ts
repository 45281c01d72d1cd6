import { UpstreamError } from './upstream-error.ts'

/** For the replies of all upstreams together, in bytes; each single reply has bounds of its own. */
const maxHeld = 1024 * 1024 * 1024
let held = 0

/** The memory that one large reply has reserved of what all of them share. */
export class HeldMemory {
  #own = 0

  /** Reserves `bytes` in all. Throws an `UpstreamError` when the replies of all requests together hold too much. */
  hold(bytes: number): void {
    const more = bytes - this.#own
    if (held + more > maxHeld) {
      throw new UpstreamError(
        { type: 'excess' },
        'large replies of servers take all the memory that they may have: try again later',
      )
    }
    held += more
    this.#own = bytes
  }

  release(): void {
    held -= this.#own
    this.#own = 0
  }
}
