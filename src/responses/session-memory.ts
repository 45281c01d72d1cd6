import type { StoredItem } from '../contract/store.ts'

type Remembered = { readonly id: string; readonly history: readonly StoredItem[]; readonly sizeBytes: number }

/** What one connection knows of its responses, so that they can be continued without a store: the last one of each lane. */
export class SessionMemory {
  readonly #limitBytes: number
  readonly #lanes = new Map<string, Remembered>()

  /** A history that took more bytes to send is not remembered. */
  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  recall(id: string): Remembered | undefined {
    return [...this.#lanes.values()].find((remembered) => remembered.id === id)
  }

  /** Takes the place of the lane's last response. The oldest lanes go first when all histories together are too large. */
  remember(lane: string, response: Remembered): void {
    this.#lanes.delete(lane)
    if (response.sizeBytes <= this.#limitBytes) this.#lanes.set(lane, response)
    for (const [name] of this.#lanes) {
      const total = [...this.#lanes.values()].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
      if (total <= this.#limitBytes) return
      this.#lanes.delete(name)
    }
  }

  forget(id: string): void {
    for (const [lane, remembered] of this.#lanes) if (remembered.id === id) this.#lanes.delete(lane)
  }
}
