import { LruMap } from '../../base/lru-map.ts'
import { Queue } from '../../base/queue.ts'

const maxChars = 64 * 1024 * 1024

/**
 * The results of recent conversions, so that a picture in a conversation is converted once and not with each turn. Also limits concurrent
 * conversions.
 */
export class RecentResults<Result extends object> {
  readonly #queue: Queue
  readonly #results: LruMap<string, Result>

  /** `sizeOf`: the characters of a result. */
  constructor(maxAtOnce: number, sizeOf: (result: Result) => number) {
    this.#queue = new Queue(maxAtOnce)
    this.#results = new LruMap({ max: maxChars, sizeOf })
  }

  /** The known result of this key, or that of `make`. Rejects with the signal's reason while it waits for its turn. */
  async get(key: string, make: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    signal.throwIfAborted()
    return this.#results.get(key) ?? this.#results.set(key, await this.#queue.run(signal, make))
  }
}
