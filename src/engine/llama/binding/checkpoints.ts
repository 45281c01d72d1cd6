import { mostPointBytes, mostPoints } from '../../../contract/engine.ts'
import type { Library, Memory, Context as Native } from './library.ts'

/** `LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY`: what recurrent layers and sliding windows have, which is little. */
const partialOnly = 1
/** Between two that are taken while a long text is read, in tokens. */
const interval = 8192
/** A point this few tokens behind another one is not worth its pass and its bytes. */
const leastDistance = 32

/** The parts of a context that save and restore the state of a sequence. */
type States = { readonly library: Library; readonly native: Native; readonly memory: Memory | null }

/** What a sequence had after a number of tokens. */
type Checkpoint = { readonly last: number; readonly state: Uint8Array }

/** Where points to return to are worth most in a prompt, as numbers of tokens. */
export type Stops = {
  /** Of the prompt. */
  readonly tokens: number
  /** In front of the last message; absent: not known. */
  readonly lastMessage: number | undefined
}

/** All points of a context share this many bytes: those of the sequence that has taken none for the longest time go first. */
export class CheckpointRoom {
  readonly #bytes: number
  /** In the order in which they have taken their last points. */
  readonly #owners = new Set<Checkpoints>()

  constructor(bytes = mostPointBytes) {
    this.#bytes = bytes
  }

  /** Whether this number of bytes fits, after points have been dropped for it. */
  take(owner: Checkpoints, bytes: number): boolean {
    this.#owners.delete(owner)
    this.#owners.add(owner)
    if (bytes > this.#bytes) return false
    const used = () => [...this.#owners].reduce((sum, each) => sum + each.bytes, 0)
    for (const each of this.#owners) {
      let hasMore = true
      while (hasMore && used() + bytes > this.#bytes) hasMore = each.dropOne()
    }
    return true
  }
}

/** Points of a sequence to return to, where llama.cpp cannot erase its last tokens. */
export class Checkpoints {
  readonly #context: States
  readonly #sequence: number
  readonly #room: CheckpointRoom
  #taken: Checkpoint[] = []
  /** Where the last prompt parted from what the sequence had, and no point was near. */
  #missed = 0

  constructor(context: States, sequence: number, room: CheckpointRoom) {
    this.#context = context
    this.#sequence = sequence
    this.#room = room
  }

  get bytes(): number {
    return this.#taken.reduce((sum, { state }) => sum + state.length, 0)
  }

  /**
   * Where a prompt is to be cut for points, rising: where the last one parted from what there was, which other conversations share; in front
   * of the last message, for another one in its place; and near the end, for the same prompt again, or for the next turn of a template
   * that shows an answer in another form.
   */
  stopsOf({ tokens, lastMessage = 0 }: Stops, from: number): readonly number[] {
    const stops: number[] = []
    let before = (this.#taken.at(-1)?.last ?? -1) + 1
    for (const at of [this.#missed, lastMessage, tokens - 4].sort((a, b) => a - b)) {
      if (at <= from || at >= tokens - 1 || at - before < leastDistance) continue
      stops.push(at)
      before = at
    }
    return stops
  }

  take(): void {
    const { library, native, memory } = this.#context
    if (memory === null) return
    const last = library.lastPosition(memory, this.#sequence)
    if (last < 0 || this.#taken.some((checkpoint) => checkpoint.last === last)) return
    const size = Number(library.stateSize(native, this.#sequence, partialOnly))
    if (!this.#room.take(this, size)) return
    const state = new Uint8Array(size)
    if (Number(library.getState(native, state, size, this.#sequence, partialOnly)) !== size) return
    this.#taken.push({ last, state })
    if (this.#taken.length > mostPoints) this.dropOne()
  }

  /** Drops the point that is worth least: one near the one before it, but not the newest; else the oldest. False: there is none. */
  dropOne(): boolean {
    const near = this.#taken.findIndex(({ last }, index) => {
      const before = this.#taken[index - 1]
      return before !== undefined && index < this.#taken.length - 1 && last - before.last < interval
    })
    return this.#taken.splice(Math.max(0, near), 1).length > 0
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
    const restored = this.#restoreLast(tokens)
    if (tokens - restored >= leastDistance) this.#missed = tokens
    return restored
  }

  #restoreLast(tokens: number): number {
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
