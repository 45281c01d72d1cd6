import type { LogitIndex } from '../../binding/context.ts'
import type { Follower, Sequence } from '../../binding/sequence.ts'
import type { Token } from '../../binding/tokenizer.ts'
import { type Drafting, type Guess, guessOf, type Heads } from './head-sequence.ts'

const nothing = new Float32Array(0)

/**
 * A head that reads the memory of its model (Gemma 4's assistant), and so no text: of a sequence it knows what the model's last pass has
 * computed.
 */
export class AssistantSequence implements Follower {
  readonly #sequence: Sequence
  readonly #heads: Heads
  /** The number of the first token of that pass. */
  #start = 0
  #hidden: Float32Array = nothing

  constructor(sequence: Sequence, heads: Heads) {
    this.#sequence = sequence
    this.#heads = heads
  }

  follow(_tokens: readonly Token[], { start, hidden }: Parameters<Follower['follow']>[1]): void {
    this.#start = start
    this.#hidden = hidden
  }

  keepUp(): Promise<void> {
    return Promise.resolve()
  }

  copyFrom(other: Follower): void {
    this.#start = other instanceof AssistantSequence ? other.#start : 0
    this.#hidden = other instanceof AssistantSequence ? other.#hidden : nothing
  }

  forget(): void {
    this.#hidden = nothing
  }

  /** Guesses what follows the tokens that the sequence has computed, and this one. */
  async draft(last: Token, { known, most, minProbability, isOver }: Drafting): Promise<readonly Token[]> {
    const { length } = this.#heads.source
    let vectors = this.#hidden.subarray((known - 1 - this.#start) * length, (known - this.#start) * length)
    if (known <= this.#start || vectors.length < length) return []
    const drafted: Token[] = []
    try {
      for (let token = last; drafted.length < most && !isOver(); ) {
        const guess = await this.#guess(token, vectors, minProbability)
        if (guess === undefined) break
        drafted.push(guess.token)
        token = guess.token
        vectors = guess.hidden
      }
    } catch (error) {
      this.#heads.onError(error)
    }
    return drafted
  }

  /** Each guess has the position of the first: nothing of them is in memory. */
  async #guess(token: Token, vectors: Float32Array, minProbability: number): Promise<Guess | undefined> {
    const { context, rounds } = this.#heads
    const { id, nextTokenIndex, nextPosition } = this.#sequence
    const member = { id, nextTokenIndex, nextPosition, append: () => undefined, dropUnknown: () => undefined }
    const read = (index: LogitIndex) => guessOf(this.#heads, { index, minProbability })
    const [guess] = await rounds.join('tokens', () => context.compute(member, { tokens: [token], vectors, wanted: 'last', read }))
    return guess
  }
}
