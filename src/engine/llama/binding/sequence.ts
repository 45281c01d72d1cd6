import { Checkpoints, type Stops } from './checkpoints.ts'
import type { Context, LogitIndex, Read } from './context.ts'
import type { Memory } from './library.ts'
import type { Token } from './tokenizer.ts'

/** A text in a context: the tokens that llama.cpp has computed of it, from the first one on. Only one call may run at a time. */
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

  /** Erases the tokens from this one on; where that is not possible, it may have fewer afterwards. */
  truncate(start: number): Promise<void> {
    return this.context.betweenPasses(() => this.#truncate(start))
  }

  clearHistory(): Promise<void> {
    return this.truncate(0)
  }

  /** Copies the first tokens of another sequence of this context. */
  copyFrom(other: Sequence, tokens: number): Promise<void> {
    return this.context.betweenPasses(() => {
      const { library, memory } = this.context
      if (memory === null) return
      // Whole streams only (`kv_unified` is off); what is too much is erased.
      library.copyTokens(memory, other.id, this.id, -1, -1)
      this.#hold(other.#tokens)
      this.#checkpoints?.copyFrom(other.#checkpoints)
      this.#truncate(tokens)
    })
  }

  /** Where the reading of the prompt is to stop for a point to return to, as planned: numbers of tokens that it has then. */
  get stops(): readonly number[] {
    return this.#stops
  }

  /** Plans points to return to for a prompt that it has the first tokens of. */
  planStops(stops: Stops): void {
    this.#stops = this.#checkpoints?.stopsOf(stops, this.#tokens.length) ?? []
  }

  /** A point to return to, where tokens cannot be erased. */
  takeCheckpoint(): Promise<void> {
    return this.context.betweenPasses(() => this.#checkpoints?.take())
  }

  saveStateToFile(path: string): Promise<void> {
    return this.context.betweenPasses(async () => {
      const tokens = Int32Array.from(this.#tokens)
      const { library, native } = this.context
      const bytes = await library.saveSequence.inThread(native, path, this.id, tokens, tokens.length)
      if (Number(bytes) === 0) throw new Error('llama.cpp could not write it')
    })
  }

  /** Replaces what it has. The file must be of the same model and settings. */
  loadStateFromFile(path: string): Promise<void> {
    return this.context.betweenPasses(async () => {
      const { library, native } = this.context
      const [tokens, count] = [new Int32Array(this.context.contextSize), new BigUint64Array(1)]
      this.#tokens.length = 0
      const bytes = await library.loadSequence.inThread(native, path, this.id, tokens, tokens.length, count)
      if (Number(bytes) === 0) throw new Error('llama.cpp could not read it')
      this.#hold(tokens.subarray(0, Number(count[0])) as Iterable<number> as Iterable<Token>)
    })
  }

  /** A pass has computed these. */
  append(tokens: readonly Token[]): void {
    for (const token of tokens) this.#tokens.push(token)
    this.#checkpoints?.takeAtInterval(this.#tokens.length - 1)
  }

  /** A pass has failed: some of its tokens may be in memory. */
  dropUnknown(): void {
    const { library, memory } = this.context
    if (memory !== null) library.removeTokens(memory, this.id, this.#tokens.length, -1)
  }

  #hold(tokens: Iterable<Token>): void {
    this.#tokens.length = 0
    for (const token of tokens) this.#tokens.push(token)
  }

  /**
   * Whether memory has all that the next token sees once those from this one on are erased: a sliding window loses its oldest tokens as it
   * moves on, and does not get them back when the newest are erased. llama-server's rule is a little stricter.
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
