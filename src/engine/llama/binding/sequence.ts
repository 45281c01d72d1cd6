import { appendCheckpoints, readCheckpoints } from './checkpoint-file.ts'
import { Checkpoints, type Stops } from './checkpoints.ts'
import type { Context, LogitIndex, Read } from './context.ts'
import type { Memory } from './library.ts'
import type { Token } from './tokenizer.ts'

/** The tokens of a text that a context has computed. Only one call may run at a time. */
export class Sequence {
  readonly context: Context
  readonly id: number
  readonly #tokens: Token[] = []
  readonly #checkpoints: Checkpoints | undefined
  #stops: readonly number[] = []

  constructor(context: Context, id: number) {
    this.context = context
    this.id = id
    this.#checkpoints = context.forgets ? new Checkpoints(context, id, context.checkpointRoom) : undefined
  }

  get contextTokens(): readonly Token[] {
    return this.#tokens
  }

  get nextTokenIndex(): number {
    return this.#tokens.length
  }

  async compute(tokens: readonly Token[]): Promise<void> {
    await this.context.compute(this, { tokens, wanted: 'none', read: () => undefined })
  }

  /** Adds tokens, and calls `read` while the logits of the last one are available. */
  async computeLast<T>(tokens: readonly Token[], read: (index: LogitIndex) => T | Promise<T>): Promise<T> {
    const [result] = await this.context.compute(this, { tokens, wanted: 'last', read })
    return result as T
  }

  /** As `computeLast`, for the logits of all tokens: calls `read` for each, in order. */
  computeAll<T>(tokens: readonly Token[], read: Read<T>): Promise<T[]> {
    return this.context.compute(this, { tokens, wanted: 'all', read })
  }

  /** Erases the tokens from `start` on; where that is impossible, fewer may remain. */
  truncate(start: number): Promise<void> {
    return this.context.betweenPasses(() => this.#truncate(start))
  }

  /** How many of its first `shared` tokens `truncate(shared)` leaves at least. */
  reusable(shared: number): number {
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
  copyFrom(other: Sequence, tokens: number): Promise<void> {
    return this.context.betweenPasses(() => {
      const { library, memory } = this.context
      if (memory === null) return
      // llama.cpp copies a sequence only as a whole here (`kv_unified` is off); the surplus is erased.
      library.copyTokens(memory, other.id, this.id, -1, -1)
      this.#hold(other.#tokens)
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
    return this.context.betweenPasses(() => this.#checkpoints?.take())
  }

  saveStateToFile(path: string): Promise<void> {
    return this.context.betweenPasses(async () => {
      const tokens = Int32Array.from(this.#tokens)
      const { library, native } = this.context
      const bytes = await library.saveSequence.inThread(native, path, this.id, tokens, tokens.length)
      if (Number(bytes) === 0) throw new Error('llama.cpp could not write it')
      if (this.#checkpoints !== undefined) await appendCheckpoints(path, this.#checkpoints.saved)
    })
  }

  /** Replaces the contents. The file must be of the same model and settings. */
  loadStateFromFile(path: string): Promise<void> {
    return this.context.betweenPasses(async () => {
      const { library, native, memory } = this.context
      const [tokens, count] = [new Int32Array(this.context.contextSize), new BigUint64Array(1)]
      const checkpoints = this.#checkpoints === undefined ? [] : await readCheckpoints(path)
      this.#tokens.length = 0
      this.#checkpoints?.hold(checkpoints)
      const bytes = await library.loadSequence.inThread(native, path, this.id, tokens, tokens.length, count)
      if (Number(bytes) === 0) {
        if (memory !== null) library.removeTokens(memory, this.id, -1, -1)
        throw new Error('llama.cpp could not read it')
      }
      this.#hold(tokens.subarray(0, Number(count[0])) as Iterable<number> as Iterable<Token>)
    })
  }

  /** A pass has computed these tokens. */
  append(tokens: readonly Token[]): void {
    for (const token of tokens) this.#tokens.push(token)
    this.#checkpoints?.takeAtInterval(this.#tokens.length - 1)
  }

  /** A pass has failed, perhaps after storing some of its tokens. */
  dropUnknown(): void {
    const { library, memory } = this.context
    if (memory !== null) library.removeTokens(memory, this.id, this.#tokens.length, -1)
  }

  #hold(tokens: Iterable<Token>): void {
    this.#tokens.length = 0
    for (const token of tokens) this.#tokens.push(token)
  }

  /**
   * Whether memory still has everything that the next token needs once those from `start` on are erased: a sliding window drops its oldest
   * tokens as it moves, and erasing the newest does not bring them back. llama-server's rule is a little stricter.
   */
  #isWholeBefore(start: number, memory: Memory): boolean {
    const { library, window } = this.context
    const first = Math.max(0, library.firstPosition(memory, this.id))
    return first === 0 ? start > 0 : first <= start - Math.max(1, window)
  }

  #truncate(start: number): void {
    const { library, memory } = this.context
    if (start >= this.#tokens.length) return
    this.#tokens.length = start
    if (memory === null) return
    this.#checkpoints?.forgetFrom(start)
    if (this.#isWholeBefore(start, memory) && library.removeTokens(memory, this.id, start, -1)) return
    const restored = this.#checkpoints?.restore(start) ?? 0
    if (restored === 0) library.removeTokens(memory, this.id, -1, -1)
    this.#tokens.length = restored
  }
}
