import { addressOf, floatsAt, intAt, type Library, type Sampler } from './library.ts'
import type { Token } from './tokenizer.ts'

/** The numbers of a `llama_token_data`: an id, a logit, a probability. */
const numbers = 3
/** Byte offsets in a `llama_token_data_array`. */
const at = { data: 0, size: 8, selected: 16, sorted: 24, end: 32 }

/** What is added to logits, by token. */
export type Biases = ReadonlyMap<number, number>

/** Which tokens may be chosen, and which are more or less likely. */
export type Choosing = {
  readonly biases?: Biases | undefined
  /** Only these are chosen: one bit for each token. */
  readonly allowed?: Uint32Array | undefined
  /** These are not chosen. */
  readonly forbidden?: ReadonlySet<number> | undefined
}

/** The tokens of a vocabulary to choose from, in memory that samplers change (`llama_token_data_array`). */
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

  /** Returns how many there are. */
  set(logits: Float32Array, { biases, allowed, forbidden }: Choosing): number {
    let count = 0
    for (let first = 0; first < this.#size; first += 32) {
      let bits = allowed === undefined ? -1 : (allowed[first >> 5] as number)
      for (let token = first; bits !== 0 && token < this.#size; token++, bits >>>= 1) {
        if ((bits & 1) === 0 || forbidden?.has(token) === true) continue
        this.#ids[count * numbers] = token
        this.#logits[count++ * numbers + 1] = logits[token] as number
      }
    }
    for (const [token, bias] of biases ?? []) {
      const place = count === this.#size ? token : this.#find(token, count)
      if (place !== -1) this.#logits[place * numbers + 1] = (this.#logits[place * numbers + 1] as number) + bias
    }
    this.#array.setBigUint64(at.data, addressOf(this.#ids), true)
    this.#array.setBigUint64(at.size, BigInt(count), true)
    this.#array.setBigInt64(at.selected, -1n, true)
    this.#array.setUint8(at.sorted, 0)
    return count
  }

  apply(library: Library, sampler: Sampler): void {
    library.apply(sampler, this.#array)
  }

  get isSorted(): boolean {
    return this.#array.getUint8(at.sorted) !== 0
  }

  /** Changes the logits, which must be sorted; `reshape` returns how many of the first ones stay. */
  reshape(reshape: (logits: Float32Array) => number): void {
    const { memory, size } = this.#memory()
    const logits = Float32Array.from({ length: size }, (_, index) => memory[index * numbers + 1] as number)
    const kept = reshape(logits)
    for (const [index, logit] of logits.subarray(0, kept).entries()) memory[index * numbers + 1] = logit
    this.#array.setBigUint64(at.size, BigInt(kept), true)
    this.#array.setUint8(at.sorted, logits.every((logit, index) => index === 0 || logit <= (logits[index - 1] as number)) ? 1 : 0)
  }

  /** Divides the logits of tokens, or multiplies them where they are negative. */
  penalize(factors: ReadonlyMap<number, number>): void {
    if (factors.size === 0) return
    const { memory, size } = this.#memory()
    const ids = new Int32Array(memory.buffer, memory.byteOffset, memory.length)
    for (let place = 0; place < size * numbers; place += numbers) {
      const factor = factors.get(ids[place] as number)
      if (factor === undefined) continue
      const logit = memory[place + 1] as number
      memory[place + 1] = logit > 0 ? logit / factor : logit * factor
    }
    this.#array.setUint8(at.sorted, 0)
  }

  /** The token that the samplers have chosen; undefined if they chose none. */
  get chosen(): Token | undefined {
    const selected = this.#array.getBigInt64(at.selected, true)
    if (selected < 0n || selected >= this.#array.getBigUint64(at.size, true)) return undefined
    const data = this.#array.getBigUint64(at.data, true)
    return intAt(data + selected * BigInt(numbers * Float32Array.BYTES_PER_ELEMENT)) as Token
  }

  /** The index of a token among the first `count`, whose ids ascend; -1 if it is missing. */
  #find(token: number, count: number): number {
    let [from, to] = [0, count - 1]
    while (from <= to) {
      const middle = (from + to) >> 1
      const found = this.#ids[middle * numbers] as number
      if (found === token) return middle
      if (found < token) from = middle + 1
      else to = middle - 1
    }
    return -1
  }

  /** A sampler may have moved the tokens to other memory. */
  #memory(): { readonly memory: Float32Array; readonly size: number } {
    const size = Number(this.#array.getBigUint64(at.size, true))
    const data = this.#array.getBigUint64(at.data, true)
    return { memory: data === addressOf(this.#ids) ? this.#logits : floatsAt(data, size * numbers), size }
  }
}
