import { LruMap } from '../../base/lru-map.ts'
import { Queue } from '../../base/queue.ts'
import type { MediaBytes } from '../../contract/media.ts'

type Result = readonly MediaBytes[]

const maxChars = 64 * 1024 * 1024

/**
 * The results of recent conversions, so that a picture in a conversation is converted once and not with each turn. Also limits concurrent
 * conversions.
 */
export class RecentResults {
  readonly #queue: Queue
  readonly #results = new LruMap<string, Result>({ max: maxChars, sizeOf })

  constructor(maxAtOnce: number) {
    this.#queue = new Queue(maxAtOnce)
  }

  /** The known result of this key, or that of `make`. Rejects with the signal's reason while it waits for its turn. */
  async get(key: string, make: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    signal.throwIfAborted()
    return this.#results.get(key) ?? this.#results.set(key, await this.#queue.run(signal, make))
  }
}

function sizeOf(result: Result): number {
  return result.reduce((sum, { base64 }) => sum + base64.length, 0)
}
