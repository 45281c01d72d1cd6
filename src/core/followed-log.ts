import { Waiters } from '../base/waiters.ts'

type Options<Item> = {
  /** The largest total size of the items that are kept; absent: all are. */
  readonly maxSize?: number
  /** 1 if absent. */
  sizeOf?(item: Item): number
}

/** Called with an item, and with how much of its beginning the reader has already. */
type Take<Item> = (item: Item, skip: number) => Promise<void> | undefined

/** Items that are added over time, for any number of readers, each at its own pace. Positions are sums of sizes; the oldest items leave. */
export class FollowedLog<Item> {
  readonly #maxSize: number
  readonly #sizeOf: (item: Item) => number
  readonly #items: Item[] = []
  readonly #waiters = new Waiters()
  /** How many items have left. */
  #left = 0
  #start = 0
  #end = 0
  #isClosed = false

  constructor({ maxSize = Number.POSITIVE_INFINITY, sizeOf = () => 1 }: Options<Item> = {}) {
    this.#maxSize = maxSize
    this.#sizeOf = sizeOf
  }

  /** The position of the first item that is kept. */
  get start(): number {
    return this.#start
  }

  /** The position after the last item. */
  get end(): number {
    return this.#end
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  add(item: Item): void {
    this.#items.push(item)
    this.#end += this.#sizeOf(item)
    while (this.#end - this.#start > this.#maxSize) {
      const oldest = this.#items.shift()
      if (oldest === undefined) break
      this.#start += this.#sizeOf(oldest)
      this.#left += 1
    }
    this.#waiters.release()
  }

  /** No item follows. */
  close(): void {
    this.#isClosed = true
    this.#waiters.release()
  }

  /** The items from a position on, as far as they are there. The first may begin before it. */
  read(from: number): { readonly items: readonly Item[]; readonly skip: number } {
    const { index, skip } = this.#find(from)
    return { items: this.#items.slice(index - this.#left), skip }
  }

  /**
   * Gives the items from a position on, including future ones. Resolves after the last one, when the signal is aborted, or when the reader is
   * so slow that its next item has left.
   */
  async follow(from: number, take: Take<Item>, signal: AbortSignal): Promise<void> {
    let next: { readonly index: number; readonly skip: number } | undefined
    while (!signal.aborted) {
      if (next === undefined && (this.#end > from || this.#isClosed)) next = this.#find(from)
      if (next !== undefined && next.index < this.#left) return
      const item = next === undefined ? undefined : this.#items[next.index - this.#left]
      if (next !== undefined && item !== undefined) {
        const pending = take(item, next.skip)
        next = { index: next.index + 1, skip: 0 }
        if (pending !== undefined) await pending
      } else if (this.#isClosed) return
      else await this.#waiters.wait(signal).catch(() => undefined)
    }
  }

  #find(from: number): { readonly index: number; readonly skip: number } {
    let position = this.#start
    for (const [offset, item] of this.#items.entries()) {
      const size = this.#sizeOf(item)
      if (position + size > from) return { index: this.#left + offset, skip: Math.max(0, from - position) }
      position += size
    }
    return { index: this.#left + this.#items.length, skip: 0 }
  }
}
