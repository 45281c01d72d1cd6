import { WatchedSet } from '../../base/watched-set.ts'
import type { DrainChange } from '../../contract/server/siblings.ts'

/** Which servers of which models an operator has taken out of use. It outlives the engines, which a reload may replace. */
export class Drains {
  readonly #byModel = new Map<string, WatchedSet<string>>()

  constructor(changes: readonly DrainChange[] = []) {
    for (const change of changes) this.note(change)
  }

  /** The URLs of a model's servers: its engines read and change this very set. */
  of(model: string): WatchedSet<string> {
    const urls = this.#byModel.get(model) ?? new WatchedSet()
    this.#byModel.set(model, urls)
    return urls
  }

  note({ model, url, isDraining }: DrainChange): void {
    this.of(model).set(url, isDraining)
  }
}
