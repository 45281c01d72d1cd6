import { LruMap } from '../../base/lru-map.ts'
import type { Queue } from '../../base/queue.ts'

const maxChars = 64 * 1024 * 1024

/**
 * The results of recent conversions, so that a picture in a conversation is converted once and not with each turn. In a queue that
 * limits concurrent conversions.
 */
export class RecentResults<Result extends object> {
  readonly #queue: Queue
  readonly #results: LruMap<string, Result>

  /** `sizeOf`: the characters of a result. */
  constructor(queue: Queue, sizeOf: (result: Result) => number) {
    this.#queue = queue
    this.#results = new LruMap({ max: maxChars, sizeOf })
  }

  /** The known result of this key, or that of `make`. Rejects with the signal's reason while it waits for its turn. */
  async get(key: string, make: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    signal.throwIfAborted()
    return this.#results.get(key) ?? this.#results.set(key, await this.#queue.run(signal, make))
  }
}
