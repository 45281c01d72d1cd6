import type { PrefixKey } from './prefix-memory.ts'

/** Until as many requests have come, one more says little. */
const leastTotal = 100
const leastWindow = 1000
/** So that a group that needs a single server is seen a few times. */
const requestsPerServer = 4

type Counts = { readonly of: Map<number, number>; total: number }

/** Estimates the parts of all requests that begin alike, from the last one or two thousand. */
export class Popularity {
  #current: Counts = { of: new Map(), total: 0 }
  #last: Counts = { of: new Map(), total: 0 }

  /** Counts a request that begins so. */
  count({ low }: PrefixKey, servers: number): void {
    if (this.#current.total >= Math.max(leastWindow, requestsPerServer * servers)) {
      this.#last = this.#current
      this.#current = { of: new Map(), total: 0 }
    }
    this.#current.of.set(low, (this.#current.of.get(low) ?? 0) + 1)
    this.#current.total += 1
  }

  /** Their part of all, from 0 to 1. */
  shareOf({ low }: PrefixKey): number {
    const times = (this.#current.of.get(low) ?? 0) + (this.#last.of.get(low) ?? 0)
    return times / Math.max(leastTotal, this.#current.total + this.#last.total)
  }
}
