import type { Context } from './context.ts'

/** `LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY`: what recurrent layers and sliding windows have, which is little. */
const partialOnly = 1
/** Between two that are taken while a long text is read, in tokens; and how many are kept. */
const interval = 8192
const most = 32

/** What a sequence had after a number of tokens. */
type Checkpoint = { readonly last: number; readonly state: Uint8Array }

/** Points of a sequence to return to, where llama.cpp cannot erase its last tokens. */
export class Checkpoints {
  readonly #context: Context
  readonly #sequence: number
  #taken: Checkpoint[] = []

  constructor(context: Context, sequence: number) {
    this.#context = context
    this.#sequence = sequence
  }

  take(): void {
    const { library, native, memory } = this.#context
    if (memory === null) return
    const last = library.lastPosition(memory, this.#sequence)
    if (last < 0 || this.#taken.some((checkpoint) => checkpoint.last === last)) return
    const size = Number(library.stateSize(native, this.#sequence, partialOnly))
    const state = new Uint8Array(size)
    if (Number(library.getState(native, state, size, this.#sequence, partialOnly)) !== size) return
    this.#taken.push({ last, state })
    if (this.#taken.length > most) this.#taken.shift()
  }

  takeAtInterval(last: number): void {
    if (last - (this.#taken.at(-1)?.last ?? -1) >= interval) this.take()
  }

  /** Those that have the token of this number. */
  forgetFrom(start: number): void {
    this.#taken = this.#taken.filter(({ last }) => last < start)
  }

  copyFrom(other: Checkpoints | undefined): void {
    this.#taken = other === undefined ? [] : [...other.#taken]
  }

  /** Returns to the last one, of at most so many tokens; returns how many the sequence has then: 0 where there is none. */
  restore(tokens: number): number {
    const { library, native, memory } = this.#context
    const found = tokens > 1 ? this.#taken.at(-1) : undefined
    if (found === undefined || memory === null) return 0
    const { last, state } = found
    if (Number(library.setState(native, state, state.length, this.#sequence, partialOnly)) !== state.length) return 0
    const isThere =
      library.removeTokens(memory, this.#sequence, last + 1, -1) && library.lastPosition(memory, this.#sequence) === last
    return isThere ? last + 1 : 0
  }
}
