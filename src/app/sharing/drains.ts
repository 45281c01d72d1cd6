import { WatchedSet } from '../../base/watched-set.ts'

/** A server of a model that gets no new requests, by its URL. */
export type DrainedServer = { readonly model: string; readonly url: string }

/** Which servers of which models an operator has taken out of use. It outlives the engines, which a reload may replace. */
export class Drains {
  readonly #byModel = new Map<string, WatchedSet<string>>()
  #known: readonly DrainedServer[] = []

  /** The URLs of a model's servers: its engines read and change this very set. */
  of(model: string): WatchedSet<string> {
    const urls = this.#byModel.get(model) ?? new WatchedSet()
    this.#byModel.set(model, urls)
    return urls
  }

  /** Takes these servers out of use, and those of the last call that are not among them back into it. */
  replace(drained: readonly DrainedServer[]): void {
    for (const { model, url } of this.#known) {
      const isDraining = drained.some((other) => other.model === model && other.url === url)
      this.of(model).set(url, isDraining)
    }
    for (const { model, url } of drained) this.of(model).set(url, true)
    this.#known = drained
  }
}
