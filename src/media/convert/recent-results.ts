import type { MediaBytes } from '../../contract/media.ts'

type Result = readonly MediaBytes[]

const maxChars = 64 * 1024 * 1024

/**
 * The results of recent conversions, so that a picture in a conversation is converted once and not with each turn; and a limit of how
 * many conversions run at once.
 */
export class RecentResults {
  readonly #maxAtOnce: number
  readonly #results = new Map<string, Result>()
  readonly #waiting: (() => void)[] = []
  #chars = 0
  #running = 0

  constructor(maxAtOnce: number) {
    this.#maxAtOnce = maxAtOnce
  }

  /** The result known by this key, or that of `make`. Rejects with the signal's reason while it waits for its turn. */
  async get(key: string, make: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    signal.throwIfAborted()
    const known = this.#results.get(key)
    if (known !== undefined) {
      // The last used is the last that is dropped.
      this.#results.delete(key)
      this.#results.set(key, known)
      return known
    }
    await this.#turn(signal)
    try {
      const made = await make()
      this.#keep(key, made)
      return made
    } finally {
      this.#running -= 1
      this.#waiting.shift()?.()
    }
  }

  #turn(signal: AbortSignal): Promise<void> | undefined {
    if (this.#running < this.#maxAtOnce) {
      this.#running += 1
      return undefined
    }
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(start), 1)
        reject(signal.reason)
      }
      const start = () => {
        signal.removeEventListener('abort', leave)
        this.#running += 1
        resolve()
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#waiting.push(start)
    })
  }

  #keep(key: string, made: Result): void {
    if (this.#results.has(key)) return
    this.#results.set(key, made)
    this.#chars += sizeOf(made)
    for (const [oldest, result] of this.#results) {
      if (this.#chars <= maxChars) break
      this.#results.delete(oldest)
      this.#chars -= sizeOf(result)
    }
  }
}

function sizeOf(result: Result): number {
  return result.reduce((sum, { base64 }) => sum + base64.length, 0)
}
