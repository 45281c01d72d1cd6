import type { StoredItem } from '../contract/store.ts'

type Remembered = { readonly id: string; readonly history: readonly StoredItem[]; readonly sizeBytes: number }

/** What one connection knows of its responses, so that they can be continued without a store: the last one of each lane. */
export class SessionMemory {
  readonly #limitBytes: number
  readonly #lanes = new Map<string, Remembered>()
  /** Histories share items, which are measured once. */
  readonly #sizes = new WeakMap<StoredItem, number>()

  /** The limit of each history, and of all together, as JSON. */
  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  /** The history of a response. */
  recall(id: string): readonly StoredItem[] | undefined {
    return [...this.#lanes.values()].find((remembered) => remembered.id === id)?.history
  }

  /** Takes the place of the lane's last response. The lanes that were not used for longest go when all are too large. */
  remember(lane: string, id: string, history: readonly StoredItem[]): void {
    this.#lanes.delete(lane)
    const sizeBytes = history.reduce((sum, item) => sum + this.#sizeOf(item), 0)
    if (sizeBytes > this.#limitBytes) return
    this.#lanes.set(lane, { id, history, sizeBytes })
    let totalBytes = [...this.#lanes.values()].reduce((sum, remembered) => sum + remembered.sizeBytes, 0)
    for (const [oldest, remembered] of this.#lanes) {
      if (totalBytes <= this.#limitBytes) return
      this.#lanes.delete(oldest)
      totalBytes -= remembered.sizeBytes
    }
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
