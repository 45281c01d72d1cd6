import { ChurnMap } from './churn.ts'

type Options<Value> = {
  /** The largest total size of all values. */
  readonly max: number
  /** The size of one value; 1 if absent. */
  sizeOf?(value: Value): number
}

/** A bounded `Map`: when it is full, the least recently used entry leaves. A value that exceeds the bound alone is not kept. */
export class LruMap<Key, Value extends object> {
  readonly #max: number
  readonly #sizeOf: (value: Value) => number
  /** The least recently used entry comes first. */
  readonly #values = new ChurnMap<Key, Value>()
  #size = 0

  constructor({ max, sizeOf = () => 1 }: Options<Value>) {
    this.#max = max
    this.#sizeOf = sizeOf
  }

  get(key: Key): Value | undefined {
    const value = this.#values.get(key)
    if (value === undefined) return undefined
    this.#values.delete(key)
    this.#values.set(key, value)
    return value
  }

  /** The value of a key, created by `make` if it is missing. A failure is not kept. */
  find(key: Key, make: () => Value): Value {
    return this.get(key) ?? this.set(key, make())
  }

  set(key: Key, value: Value): Value {
    this.delete(key)
    const size = this.#sizeOf(value)
    if (size > this.#max) return value
    this.#values.set(key, value)
    this.#size += size
    for (const oldest of this.#values.keys()) {
      if (this.#size <= this.#max) break
      this.delete(oldest)
    }
    return value
  }

  delete(key: Key): void {
    const value = this.#values.get(key)
    if (value === undefined) return
    this.#values.delete(key)
    this.#size -= this.#sizeOf(value)
  }

  clear(): void {
    this.#values.clear()
    this.#size = 0
  }

  /** The least recently used first. */
  [Symbol.iterator](): IterableIterator<[Key, Value]> {
    return this.#values[Symbol.iterator]()
  }
}
