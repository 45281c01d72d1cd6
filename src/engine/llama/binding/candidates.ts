import { addressOf, intAt, type Library, type Sampler } from './library.ts'
import type { Token } from './tokenizer.ts'

/** The numbers of a `llama_token_data`: an id, a logit, a probability. */
const numbers = 3
/** The places in a `llama_token_data_array`, in bytes. */
const at = { data: 0, size: 8, selected: 16, sorted: 24, end: 32 }

/** What is added to logits, by token. */
export type Biases = ReadonlyMap<number, number>

/** All tokens of a vocabulary to choose from, in memory that samplers change (`llama_token_data_array`). */
export class Candidates {
  readonly #ids: Int32Array
  readonly #logits: Float32Array
  readonly #array = new DataView(new ArrayBuffer(at.end))
  readonly #size: number

  constructor(size: number) {
    const memory = new ArrayBuffer(size * numbers * Float32Array.BYTES_PER_ELEMENT)
    this.#ids = new Int32Array(memory)
    this.#logits = new Float32Array(memory)
    this.#size = size
  }

  set(
    logits: Float32Array,
    { biases, forbidden }: { biases?: Biases | undefined; forbidden?: Iterable<number> | undefined },
  ): void {
    for (let token = 0; token < this.#size; token++) {
      this.#ids[token * numbers] = token
      this.#logits[token * numbers + 1] = logits[token] as number
    }
    for (const [token, bias] of biases ?? []) {
      const place = token * numbers + 1
      this.#logits[place] = (this.#logits[place] as number) + bias
    }
    for (const token of forbidden ?? []) this.#logits[token * numbers + 1] = Number.NEGATIVE_INFINITY
    this.#array.setBigUint64(at.data, addressOf(this.#ids), true)
    this.#array.setBigUint64(at.size, BigInt(this.#size), true)
    this.#array.setBigInt64(at.selected, -1n, true)
    this.#array.setUint8(at.sorted, 0)
  }

  /** The token that the sampler chooses; undefined where it chooses none. */
  choose(library: Library, sampler: Sampler): Token | undefined {
    library.apply(sampler, this.#array)
    const selected = this.#array.getBigInt64(at.selected, true)
    if (selected < 0n || selected >= this.#array.getBigUint64(at.size, true)) return undefined
    // A sampler may have put the tokens elsewhere.
    const data = this.#array.getBigUint64(at.data, true)
    return intAt(data + selected * BigInt(numbers * Float32Array.BYTES_PER_ELEMENT)) as Token
  }
}
