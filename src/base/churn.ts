/** Entries that leave before a collection is rebuilt: at least this many, and twice its size. */
const fewest = 256

/**
 * A `Map` whose entries come and go with requests.
 *
 * V8 links each table that a Map or a Set has outgrown to the next one. Once a table is among the old objects, where a full collection puts
 * it, young collections keep all tables after it, with their entries: each request lives until the next full collection, and the one after
 * that begins the same anew. A server of short requests used a quarter more processor time for each of them from its first full collection
 * on (docs/inside/decisions/0041). A new Map begins without such a link.
 */
export class ChurnMap<Key, Value> {
  #map = new Map<Key, Value>()
  #left = 0

  get size(): number {
    return this.#map.size
  }

  get(key: Key): Value | undefined {
    return this.#map.get(key)
  }

  has(key: Key): boolean {
    return this.#map.has(key)
  }

  set(key: Key, value: Value): void {
    this.#map.set(key, value)
  }

  /** Whether the entry existed. */
  delete(key: Key): boolean {
    if (!this.#map.delete(key)) return false
    this.#left += 1
    if (this.#left > fewest + 2 * this.#map.size) this.#renew(this.#map)
    return true
  }

  clear(): void {
    if (this.#map.size > 0) this.#renew([])
  }

  /** In order of insertion. Concurrent changes may not show. */
  keys(): IterableIterator<Key> {
    return this.#map.keys()
  }

  /** In the same order. */
  values(): IterableIterator<Value> {
    return this.#map.values()
  }

  [Symbol.iterator](): IterableIterator<[Key, Value]> {
    return this.#map[Symbol.iterator]()
  }

  #renew(entries: Iterable<[Key, Value]>): void {
    this.#map = new Map(entries)
    this.#left = 0
  }
}

export class ChurnSet<Value> {
  readonly #map = new ChurnMap<Value, true>()

  get size(): number {
    return this.#map.size
  }

  add(value: Value): void {
    this.#map.set(value, true)
  }

  /** Whether the value was present. */
  delete(value: Value): boolean {
    return this.#map.delete(value)
  }

  clear(): void {
    this.#map.clear()
  }

  [Symbol.iterator](): IterableIterator<Value> {
    return this.#map.keys()
  }
}
