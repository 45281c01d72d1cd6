import { LruMap } from '../base/lru-map.ts'
import type { StoredItem } from '../contract/store.ts'

type Remembered = { readonly id: string; readonly history: readonly StoredItem[]; readonly sizeBytes: number }

/** One connection's memory of its responses, so that they can be continued without a store: the last one of each lane. */
export class SessionMemory {
  readonly #lanes: LruMap<string, Remembered>
  /** Histories share items, each of which is measured once. */
  readonly #sizes = new WeakMap<StoredItem, number>()

  /** The limit of each history, and of all together, as JSON. */
  constructor(limitBytes: number) {
    this.#lanes = new LruMap({ max: limitBytes, sizeOf: ({ sizeBytes }) => sizeBytes })
  }

  /** The history of a response. */
  recall(id: string): readonly StoredItem[] | undefined {
    return [...this.#lanes].find(([, remembered]) => remembered.id === id)?.[1].history
  }

  /** Replaces the lane's last response. The lanes idle longest go when all together are too large. */
  remember(lane: string, id: string, history: readonly StoredItem[]): void {
    const sizeBytes = history.reduce((sum, item) => sum + this.#sizeOf(item), 0)
    this.#lanes.set(lane, { id, history, sizeBytes })
  }

  forget(id: string): void {
    for (const [lane, remembered] of this.#lanes) if (remembered.id === id) this.#lanes.delete(lane)
  }

  #sizeOf(item: StoredItem): number {
    const known = this.#sizes.get(item)
    if (known !== undefined) return known
    const sizeBytes = Buffer.byteLength(JSON.stringify(item.json))
    this.#sizes.set(item, sizeBytes)
    return sizeBytes
  }
}
