import { addressOf, type Params } from './library.ts'
import type { Token } from './tokenizer.ts'

type Place = { readonly position: number; readonly sequence: number; readonly wanted: boolean; readonly vector?: Float32Array }

/** Vectors in place of tokens, for an encoder. */
export function vectorBatch(vectors: readonly Float32Array[], length: number): Params {
  const embd = new Float32Array(vectors.length * length)
  for (const [index, vector] of vectors.entries()) embd.set(vector, index * length)
  return { n_tokens: vectors.length, token: null, embd, pos: null, n_seq_id: null, seq_id: null, logits: null }
}

/** The tokens of one pass, in memory that llama.cpp reads (`struct llama_batch`). */
export class Batch {
  readonly size: number
  readonly #tokens: Int32Array
  readonly #positions: Int32Array
  readonly #sequences: Int32Array
  readonly #wanted: Int8Array
  readonly #vectors: Float32Array | null
  readonly #params: Params
  #length = 0

  /** `vectorLength`: each token comes with a vector of this length. */
  constructor(size: number, vectorLength = 0) {
    this.size = size
    this.#vectors = vectorLength === 0 ? null : new Float32Array(size * vectorLength)
    this.#tokens = new Int32Array(size)
    this.#positions = new Int32Array(size)
    this.#sequences = new Int32Array(size)
    this.#wanted = new Int8Array(size)
    // Each token is in one sequence, whose number is at the address in this list.
    const first = addressOf(this.#sequences)
    const addresses = BigUint64Array.from({ length: size }, (_, index) => first + BigInt(index * Int32Array.BYTES_PER_ELEMENT))
    this.#params = {
      token: this.#tokens,
      embd: this.#vectors,
      pos: this.#positions,
      n_seq_id: new Int32Array(size).fill(1),
      seq_id: addresses,
      logits: this.#wanted,
    }
  }

  clear(): void {
    this.#length = 0
  }

  /** Returns the token's place, by which llama.cpp names its logits if they are `wanted`. */
  add(token: Token, { position, sequence, wanted, vector }: Place): number {
    const at = this.#length++
    if (vector !== undefined) this.#vectors?.set(vector, at * vector.length)
    this.#tokens[at] = token
    this.#positions[at] = position
    this.#sequences[at] = sequence
    this.#wanted[at] = wanted ? 1 : 0
    return at
  }

  /** Vectors in place of tokens, of one sequence; the logits of none are wanted. `positions`: one axis after the other. */
  vectorsOf(vectors: Float32Array, { positions, sequence }: { positions: Int32Array; sequence: number }, count: number): Params {
    this.#sequences.fill(sequence, 0, count)
    this.#wanted.fill(0, 0, count)
    return { ...this.#params, token: null, embd: vectors, pos: positions, n_tokens: count }
  }

  get params(): Params {
    return { ...this.#params, n_tokens: this.#length }
  }
}
