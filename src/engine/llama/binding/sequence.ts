import { type Checkpoint, Checkpoints, type Stops } from './checkpoints.ts'
import { anyToken, type Context, type LogitIndex, type Read } from './context.ts'
import type { Memory } from './library.ts'
import type { Slice } from './senses.ts'
import { endOutside, positionAt, type Span } from './spans.ts'
import type { Token } from './tokenizer.ts'

/** The numbers of a position in a grid. */
const gridAxes = 4
/** Without any of llama.cpp's `LLAMA_STATE_SEQ_FLAGS`: the state of all layers. */
const completely = 0

/** Some of the vectors of a slice, from its vector `from` on. */
export type SlicePart = { readonly slice: Slice; readonly vectors: Float32Array; readonly from: number }

/** The tokens of a sequence, and llama.cpp's state of them. */
export type SequenceState = {
  readonly tokens: Int32Array
  readonly state: Uint8Array
  /** Where it can return to; absent: anywhere. */
  readonly checkpoints: readonly Checkpoint[] | undefined
}

/** Reads along what a sequence computes. */
export type Follower = {
  /** A pass has computed these tokens, the first at this number and position, and for each of them a hidden state. */
  follow(tokens: readonly Token[], at: { readonly start: number; readonly position: number; readonly hidden: Float32Array }): void
  /** Reads what was computed, once it is much. Never rejects. */
  keepUp(): Promise<void>
  /** The sequence has other tokens now: as many of another's. */
  copyFrom(other: Follower): void
  /** The sequence has other tokens now. */
  forget(): void
}

/** The tokens of a text that a context has computed. Only one call may run at a time. */
export class Sequence {
  readonly context: Context
  readonly id: number
  readonly #tokens: Token[] = []
  readonly #checkpoints: Checkpoints | undefined
  #spans: readonly Span[] = []
  #stops: readonly number[] = []
  #follower: Follower | undefined
  /** The tokens of the last pass, unless something else has changed the memory since. */
  #lastPass = 0
  /** Recurrent layers have taken tokens back, which llama.cpp does with the next pass. */
  #isTakenBack = false
  /** The number of passes when llama.cpp was asked to copy into it, which it does with the next one. */
  #copiedAt: number | undefined

  constructor(context: Context, id: number) {
    this.context = context
    this.id = id
    const positionOf = (token: number) => positionAt(this.#spans, token)
    this.#checkpoints = context.forgets ? new Checkpoints(context, id, { room: context.checkpointRoom, positionOf }) : undefined
  }

  get contextTokens(): readonly Token[] {
    return this.#tokens
  }

  get nextTokenIndex(): number {
    return this.#tokens.length
  }

  get nextPosition(): number {
    return positionAt(this.#spans, this.#tokens.length)
  }

  /** Its memory is not there yet: a pass of any sequence copies it. */
  get isPending(): boolean {
    return this.#copiedAt === this.context.passes
  }

  set follower(follower: Follower) {
    this.#follower = follower
  }

  async compute(tokens: readonly Token[]): Promise<void> {
    await this.context.compute(this, { tokens, wanted: 'none', read: () => undefined })
    await this.#follower?.keepUp()
  }

  /** Adds tokens, and calls `read` while the logits of the last one are available. */
  async computeLast<T>(tokens: readonly Token[], read: (index: LogitIndex) => T | Promise<T>): Promise<T> {
    const [result] = await this.context.compute(this, { tokens, wanted: 'last', read })
    await this.#follower?.keepUp()
    return result as T
  }

  /** As `computeLast`, for the logits of all tokens: calls `read` for each, in order. */
  computeAll<T>(tokens: readonly Token[], read: Read<T>): Promise<T[]> {
    return this.context.compute(this, { tokens, wanted: 'all', read })
  }

  /** Adds vectors of a slice, by their placeholder tokens. Those of a slice that is not causal must be all. */
  async computeSlice(tokens: readonly Token[], { slice, vectors, from }: SlicePart): Promise<void> {
    const start = this.#tokens.length - from
    const position = positionAt(this.#spans, start)
    const count = tokens.length
    const positions = slice.grid === undefined ? upFrom(position + from, count) : gridFrom(slice.grid, { position, from, count })
    if (from === 0) this.#spans = [...this.#spans, { start, tokens: slice.tokens, positions: slice.positions }]
    await this.context.computeVectors(this, { vectors, count, positions, isCausal: slice.isCausal })
    this.append(tokens)
  }

  /** Erases the tokens from `start` on; where that is impossible, fewer may remain. */
  truncate(start: number): Promise<void> {
    return this.context.betweenPasses(() => this.#truncate(start))
  }

  /** How many of its first `shared` tokens `truncate(shared)` leaves at least. */
  reusable(tokens: number): number {
    const shared = endOutside(this.#spans, tokens)
    const { length } = this.#tokens
    const { window, erases } = this.context
    const hasAll = erases && length <= window
    if (this.#checkpoints === undefined || hasAll || shared >= length) return Math.min(shared, length)
    return this.#checkpoints.reach(shared)
  }

  clearHistory(): Promise<void> {
    return this.truncate(0)
  }

  /** Copies the first tokens of another sequence of this context. */
  async copyFrom(other: Sequence, tokens: number): Promise<void> {
    await this.#settle()
    await this.context.betweenPasses(() => {
      const { memory } = this.context
      if (memory === null || other.isPending) return
      this.#copyMemory(other, { memory, isWhole: tokens >= other.nextTokenIndex })
      this.#hold(other.#tokens, other.#spans)
      if (other.#follower !== undefined) this.#follower?.copyFrom(other.#follower)
      this.#checkpoints?.copyFrom(other.#checkpoints)
      this.#truncate(tokens)
    })
  }

  /** Where to stop for checkpoints while the prompt is read, as numbers of tokens. */
  get stops(): readonly number[] {
    return this.#stops
  }

  /** Plans the checkpoints of a prompt whose first tokens the sequence has. */
  planStops(stops: Stops): void {
    this.#stops = this.#checkpoints?.stopsOf(stops, this.#tokens.length) ?? []
  }

  /** Takes a checkpoint, where tokens cannot be erased. */
  takeCheckpoint(): Promise<void> {
    return this.context.betweenPasses(() => this.#checkpoints?.take(this.#tokens.length - 1))
  }

  /** Makes sure that this many tokens of the next pass can be taken back; false: they cannot. */
  async prepareDraft(tokens: number): Promise<boolean> {
    const { erases, rollback } = this.context
    if (erases || tokens <= rollback) return true
    return this.context.betweenPasses(() => this.#checkpoints?.takeForDraft(this.#tokens.length - 1) === true)
  }

  /** The memory that `readState` needs. */
  stateBytes(): Promise<number> {
    const { library, native } = this.context
    const points = this.#checkpoints?.saved ?? []
    return this.context.betweenPasses(
      () => Number(library.stateSize(native, this.id, completely)) + points.reduce((sum, { state }) => sum + state.length, 0),
    )
  }

  readState(): Promise<SequenceState> {
    return this.context.betweenPasses(async () => {
      const { library, native } = this.context
      const size = Number(library.stateSize(native, this.id, completely))
      const state = new Uint8Array(size)
      if (Number(await library.getState.inThread(native, state, size, this.id, completely)) !== size) {
        throw new Error('llama.cpp could not copy it')
      }
      return { tokens: Int32Array.from(this.#tokens), state, checkpoints: this.#checkpoints?.saved }
    })
  }

  /**
   * Replaces the contents by a state of the same model and settings. `spans`: those of the wanted tokens, to which it must then be truncated.
   */
  async writeState({ tokens, state, checkpoints = [] }: SequenceState, spans: readonly Span[] = []): Promise<void> {
    await this.#settle()
    await this.context.betweenPasses(async () => {
      const { library, native, memory } = this.context
      this.#tokens.length = 0
      this.#checkpoints?.hold(checkpoints)
      if (Number(await library.setState.inThread(native, state, state.length, this.id, completely)) !== state.length) {
        if (memory !== null) library.removeTokens(memory, this.id, -1, -1)
        throw new Error('llama.cpp could not copy it back')
      }
      this.#hold(tokens as Iterable<number> as Iterable<Token>, spans)
    })
  }

  /** A pass has computed these tokens. */
  append(tokens: readonly Token[], hidden?: Float32Array): void {
    if (hidden !== undefined) this.#follower?.follow(tokens, { start: this.#tokens.length, position: this.nextPosition, hidden })
    for (const token of tokens) this.#tokens.push(token)
    this.#lastPass = tokens.length
    this.#isTakenBack = false
    this.#checkpoints?.takeAtInterval(this.#tokens.length - 1)
  }

  /** A pass has failed, perhaps after storing some of its tokens. */
  dropUnknown(): void {
    const { library, memory } = this.context
    this.#keep(endOutside(this.#spans, this.#tokens.length))
    if (memory !== null) library.removeTokens(memory, this.id, this.nextPosition, -1)
  }

  /** Before other contents: what is still to be copied would be written over them. */
  async #settle(): Promise<void> {
    if (!this.isPending) return
    await this.clearHistory()
    await this.compute([anyToken])
  }

  #copyMemory(other: Sequence, { memory, isWhole }: { readonly memory: Memory; readonly isWhole: boolean }): void {
    const { library, native, forgets } = this.context
    // Otherwise what was last taken back from it would be taken back from the copy.
    library.removeTokens(memory, this.id, -1, -1)
    // llama.cpp copies a sequence only as a whole here (`kv_unified` is off); the surplus is erased.
    if (!other.#isTakenBack && (isWhole || !forgets)) {
      library.copyTokens(memory, other.id, this.id, -1, -1)
      this.#copiedAt = this.context.passes
      return
    }
    // It would copy the state with the tokens that were taken back, and with the next pass only, over a checkpoint that is restored before.
    const size = Number(library.stateSize(native, other.id, completely))
    const state = new Uint8Array(size)
    library.getState(native, state, size, other.id, completely)
    if (Number(library.setState(native, state, size, this.id, completely)) !== size)
      throw new Error('llama.cpp could not copy it')
  }

  #hold(tokens: Iterable<Token>, spans: readonly Span[]): void {
    this.#follower?.forget()
    this.#lastPass = 0
    this.#isTakenBack = false
    this.#tokens.length = 0
    for (const token of tokens) this.#tokens.push(token)
    this.#spans = spans.filter(({ start }) => start < this.#tokens.length)
  }

  #keep(count: number): void {
    this.#tokens.length = count
    if (this.#spans.length > 0) this.#spans = this.#spans.filter(({ start }) => start < count)
  }

  /**
   * Whether memory still has everything that the next token needs once those from `start` on are erased: a sliding window drops its oldest
   * tokens as it moves, and erasing the newest does not bring them back. llama-server's rule is a little stricter.
   */
  #isWholeBefore(position: number, memory: Memory): boolean {
    const { library, window } = this.context
    const first = Math.max(0, library.firstPosition(memory, this.id))
    return first === 0 ? position > 0 : first <= position - Math.max(1, window)
  }

  /** Recurrent layers can take back the end of a pass; llama.cpp claims more, and then has a wrong state. */
  #isOfLastPass(tokens: number): boolean {
    return tokens <= this.context.rollback && tokens < this.#lastPass
  }

  #truncate(tokens: number): void {
    const { library, memory } = this.context
    const start = endOutside(this.#spans, tokens)
    if (start >= this.#tokens.length) return
    const isOfLastPass = this.#isOfLastPass(this.#tokens.length - start)
    this.#lastPass = 0
    this.#isTakenBack = isOfLastPass
    this.#keep(start)
    if (memory === null) return
    this.#checkpoints?.forgetFrom(start)
    const position = this.nextPosition
    if ((isOfLastPass || this.#isWholeBefore(position, memory)) && library.removeTokens(memory, this.id, position, -1)) return
    this.#isTakenBack = false
    // What is to be copied would be written over a checkpoint.
    const restored = this.isPending ? 0 : (this.#checkpoints?.restore(start) ?? 0)
    if (restored === 0) library.removeTokens(memory, this.id, -1, -1)
    this.#keep(restored)
  }
}

function upFrom(position: number, count: number): Int32Array {
  return Int32Array.from({ length: count }, (_, index) => position + index)
}

type GridPart = { readonly position: number; readonly from: number; readonly count: number }

function gridFrom({ at, moves }: NonNullable<Slice['grid']>, { position, from, count }: GridPart): Int32Array {
  const tokens = at.length / gridAxes
  return Int32Array.from({ length: gridAxes * count }, (_, index) => {
    const place = Math.floor(index / count) * tokens + from + (index % count)
    return (at[place] as number) + position * (moves[place] as number)
  })
}
