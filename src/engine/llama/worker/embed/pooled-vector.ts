import type { Pooling } from './pooling.ts'

/** Combines the vectors of a text's steps into that of the text: llama.cpp pools each step separately. */
export class PooledVector {
  readonly #pooling: Pooling
  #sum: Float64Array = new Float64Array()
  #tokens = 0

  constructor(pooling: Pooling) {
    this.#pooling = pooling
  }

  /** Adds the vector of the next step, which had this many tokens. */
  add(vector: Float32Array, tokens: number): void {
    const isFirst = this.#tokens === 0
    this.#tokens += tokens
    switch (this.#pooling) {
      case 'mean':
        this.#sum = Float64Array.from(vector, (value, index) => (this.#sum[index] ?? 0) + value * tokens)
        break
      case 'cls':
        if (isFirst) this.#sum = Float64Array.from(vector)
        break
      case 'last':
      case 'rank':
        this.#sum = Float64Array.from(vector)
        break
    }
  }

  get value(): Float32Array {
    return Float32Array.from(this.#sum, (value) => (this.#pooling === 'mean' ? value / this.#tokens : value))
  }
}
