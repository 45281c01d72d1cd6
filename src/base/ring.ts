/** The last `size` values, with their numbers, which count from 0. */
export class Ring<T> {
  readonly #size: number
  readonly #values: T[] = []
  #count = 0

  constructor(size: number) {
    this.#size = size
  }

  /** The number of the next value. */
  get count(): number {
    return this.#count
  }

  /** The number of the oldest value that is kept. */
  get first(): number {
    return this.#count - this.#values.length
  }

  push(value: T): void {
    if (this.#values.length < this.#size) this.#values.push(value)
    else this.#values[this.#count % this.#size] = value
    this.#count += 1
  }

  /** Undefined if it is no longer kept. */
  at(number: number): T | undefined {
    if (number < this.first || number >= this.#count) return undefined
    return this.#values[number % this.#size]
  }
}
