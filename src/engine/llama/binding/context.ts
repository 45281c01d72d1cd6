import { Batch } from './batch.ts'
import { CheckpointRoom } from './checkpoints.ts'
import { type ContextOptions, contextParams, poolingTypes } from './context-params.ts'
import { fillPass } from './fill-pass.ts'
import { Gaps, type SequenceTokens } from './gaps.ts'
import type { Hidden } from './hidden-states.ts'
import { floatsAt, type Library, type Memory, type Context as Native, type Params } from './library.ts'
import type { Model } from './model.ts'
import { passError } from './pass-errors.ts'
import type { Token } from './tokenizer.ts'
import { Turns } from './turns.ts'

/** At least the size of the struct that contains the flag. */
const flagBytes = 1024

/** The place of a token in the pass that was just computed, whose logits can be read until the next pass. */
export type LogitIndex = number & { readonly __brand: 'logit index' }

export type Interrupt = {
  /** Makes this pass, and every later one until `lower`, fail at its next operation. */
  raise(): void
  lower(): void
}

/** Reads what a pass has computed for one of the given tokens. */
export type Read<T> = (index: LogitIndex, tokenIndex: number) => T | Promise<T>

export type Decoding<T> = {
  readonly tokens: readonly Token[]
  /** The tokens whose logits are read. */
  readonly wanted: 'none' | 'last' | 'all'
  readonly read: Read<T>
  /** In a context of heads: a vector for each token, one after the other. */
  readonly vectors?: Float32Array
}

/** Vectors in place of tokens, all in one pass. */
export type VectorDecoding = {
  readonly vectors: Float32Array
  readonly count: number
  /** One axis after the other. */
  readonly positions: Int32Array
  /** Otherwise they see each other. */
  readonly isCausal: boolean
}

type Member = {
  readonly id: number
  readonly nextTokenIndex: number
  readonly nextPosition: number
  /** A pass has computed these; `hidden`: what it has computed for each, if that is read. */
  append(tokens: readonly Token[], hidden?: Float32Array): void
  /** A pass has failed: some of its tokens may be in memory. */
  dropUnknown(): void
}

type Work = Decoding<unknown> & {
  readonly sequence: Member
  readonly results: unknown[]
  computed: number
  readonly end: (error?: unknown) => void
}

/** Its value does not matter. */
export const anyToken = 0 as Token

/** On Vulkan, overlapping passes of two contexts crash the process. */
const vulkanTurns = new Turns()

/** Computes with a model, for several sequences of tokens. */
export class Context {
  readonly model: Model
  /** The tokens that each sequence has room for. */
  readonly contextSize: number
  readonly batchSize: number
  readonly sequences: number
  readonly native: Native
  readonly memory: Memory | null
  /** Recurrent layers and sliding windows forget: a sequence needs points to return to. */
  readonly forgets: boolean
  /** The tokens at the end of a pass that a sequence can take back although its layers are recurrent. */
  readonly rollback: number
  readonly checkpointRoom = new CheckpointRoom()
  /** How many were computed. */
  passes = 0
  /** The size of a layer's sliding window in tokens; 0 without one. */
  readonly window: number
  readonly library: Library
  /** The sequences share one memory, and are computed in one pass, regardless of their number and lengths. */
  readonly #isShared: boolean
  readonly #threads: number
  readonly #batch: Batch
  readonly #gaps = new Gaps()
  /** Passes take turns with what must not overlap with them, also of a context that reads the memory of this one. */
  readonly turns: Turns
  readonly #queue: Work[] = []
  /** Those that have computed tokens, by their numbers. */
  readonly #members = new Map<number, Member>()
  readonly #flag = Buffer.alloc(flagBytes)
  readonly #vectorLength: number
  #erases: boolean
  #hidden: Hidden | undefined
  #interrupt: Interrupt | undefined
  #isScheduled = false
  #isDisposed = false

  private constructor(model: Model, { native, contextSize, batchSize, params }: Made, turns = new Turns()) {
    const { library, fileInsights } = model
    this.model = model
    this.library = library
    this.native = native
    this.memory = library.memoryOf(native)
    this.contextSize = contextSize
    this.batchSize = batchSize
    this.sequences = params.n_seq_max
    this.#isShared = params.kv_unified
    this.#threads = params.n_threads
    this.turns = turns
    this.rollback = library.rollback(native)
    this.#vectorLength = (params.ctx_other ?? null) === null ? 0 : model.embeddingVectorSize
    this.#batch = new Batch(batchSize, this.#vectorLength)
    this.window = library.slidingWindow(model.native)
    this.forgets = fileInsights.isHybrid || fileInsights.isRecurrent || fileInsights.swaSize !== undefined || this.window > 0
    this.#erases = !this.forgets
    this.#interrupt = this.#makeInterruptible()
  }

  /** A sequence can take back tokens that the last pass has computed: with sliding windows, but not with recurrent layers. */
  get erases(): boolean {
    return this.#erases
  }

  /** Absent where passes cannot be interrupted, or where the tokens of an interrupted pass cannot be erased. */
  get interrupt(): Interrupt | undefined {
    return this.#interrupt
  }

  /** Whether an empty sequence can take back its last token; no fact of a model says so. */
  async tryErasing(sequence: Member & { clearHistory(): Promise<void> }): Promise<void> {
    const { memory, library } = this
    if (this.#erases || memory === null) return
    await this.compute(sequence, { tokens: [anyToken, anyToken], wanted: 'none', read: () => undefined })
    // Recurrent layers would, but only here (`Sequence.truncate`).
    this.#erases = this.rollback === 0 && library.removeTokens(memory, sequence.id, 1, -1)
    this.#interrupt = this.#makeInterruptible()
    await sequence.clearHistory()
  }

  /** llama.cpp logs why a context cannot be made. */
  static async create(model: Model, options: ContextOptions): Promise<Context> {
    const { library } = model
    const made = await contextParams(model, options)
    const native = await library.createContext.inThread(model.native, made.params)
    if (native === null) throw new Error('Failed to create context')
    const context = new Context(model, { ...made, native }, options.headsOf?.turns)
    model.onDispose(() => context.dispose())
    await context.#apply(options.adapters ?? [])
    return context
  }

  /**
   * Queues the tokens for the next pass before it returns: everything queued in one tick is computed in one pass. `read` is called in order
   * for the tokens whose logits are wanted; its values are the result.
   */
  compute<T>(sequence: Member, decoding: Decoding<T>): Promise<T[]> {
    return new Promise((resolve, reject) => {
      const results: unknown[] = []
      const end = (error?: unknown) => (error === undefined ? resolve(results as T[]) : reject(error))
      this.#queue.push({ ...decoding, sequence, results, computed: 0, end })
      this.#members.set(sequence.id, sequence)
      if (this.#isScheduled) return
      this.#isScheduled = true
      process.nextTick(() => void this.turns.take(() => this.#computeQueued()))
    })
  }

  /** From now on sequences get these of each pass for their tokens; of a context of heads, they are read with the logits. */
  set hidden(hidden: Hidden) {
    this.#hidden = hidden
  }

  /** Computes a pass of the encoder; `read` is called behind it. */
  encode<T>(batch: Params, read: () => T): Promise<T> {
    const { library, native, model } = this
    return this.#alone(async () => {
      if ((await library.encode.inThread(native, batch)) !== 0) throw new Error('a pass failed: llama_encode')
      if (model.llama.gpu !== false) await library.synchronize.inThread(native)
      return read()
    })
  }

  /** Computes vectors in a pass of their own. */
  async computeVectors(sequence: Pick<Member, 'id' | 'dropUnknown'>, decoding: VectorDecoding): Promise<void> {
    const { vectors, count, positions, isCausal } = decoding
    const { library, native } = this
    const compute = async () => {
      if (!isCausal) library.setCausal(native, false)
      const failure = await this.#decode(this.#batch.vectorsOf(vectors, { positions, sequence: sequence.id }, count))
      if (!isCausal) library.setCausal(native, true)
      if (failure === undefined) return
      sequence.dropUnknown()
      throw failure
    }
    await this.#alone(compute)
  }

  /** While `work` runs beside passes on the CPU, it has the cores, and they one thread. */
  async beside<T>(work: () => Promise<T>): Promise<T> {
    const { library, native } = this
    const use = (threads: number) => this.turns.take(() => library.setThreads(native, threads, threads))
    await use(1)
    try {
      return await work()
    } finally {
      await use(this.#threads)
    }
  }

  /** Does what must not overlap with a pass. */
  betweenPasses<T>(work: () => T | Promise<T>): Promise<T> {
    return this.turns.take(work)
  }

  /** The logits of all tokens of the vocabulary, until the next pass. */
  logits(index: LogitIndex): Float32Array {
    const address = this.library.logits(this.native, index)
    if (address === null) throw new Error('this model computes no logits')
    return floatsAt(address, this.model.size)
  }

  /** The pooled vector of a sequence's step in the pass that was just computed. */
  vector(sequence: number): Float32Array {
    const { library, native, model } = this
    const pooling = library.poolingOf(native)
    const length = pooling === poolingTypes.rank ? library.classes(model.native) : model.embeddingVectorSize
    const address = library.sequenceVector(native, sequence)
    if (address === null) throw new Error('this model computes no vectors')
    return floatsAt(address, length).slice()
  }

  /** Frees the context after the current pass; nothing of it may be used afterwards. */
  dispose(): Promise<void> {
    return this.turns.take(() => {
      if (!this.#isDisposed) this.library.freeContext(this.native)
      this.#isDisposed = true
    })
  }

  #alone<T>(compute: () => Promise<T>): Promise<T> {
    return this.turns.take(() => (this.model.llama.gpu === 'vulkan' ? vulkanTurns.take(compute) : compute()))
  }

  /** An error of no single part ends all that is queued: nobody else knows who waits. */
  async #computeQueued(): Promise<void> {
    this.#isScheduled = false
    while (this.#queue.length > 0) {
      try {
        this.#queue.push(...this.#fillers(this.#nextPass()))
        const pass = this.#nextPass()
        if (this.model.llama.gpu === 'vulkan') await vulkanTurns.take(() => this.#computePass(pass))
        else await this.#computePass(pass)
      } catch (error) {
        const works = this.#queue.splice(0)
        for (const { end } of works) end(error)
        for (const { sequence } of works) sequence.dropUnknown()
      }
    }
  }

  #nextPass(): Part[] {
    if (this.#hidden?.mixes !== false) return fillPass(this.#queue, this.batchSize)
    const complete = this.#queue.filter(({ wanted, tokens }) => wanted === 'all' || (wanted === 'last' && tokens.length === 1))
    return fillPass(complete.length > 0 ? complete : this.#queue.slice(0, 1), this.batchSize)
  }

  async #computePass(pass: readonly Part[]): Promise<void> {
    this.#batch.clear()
    const places = pass.map((part) => addToBatch(this.#batch, part, this.#vectorLength))
    const startedMs = performance.now()
    const failure = await this.#decode(this.#batch.params)
    if (failure === undefined) this.#gaps.learn(pass.map(sequenceTokens), performance.now() - startedMs)
    let first = 0
    for (const { work, count } of pass) {
      const tokens = work.tokens.slice(work.computed, work.computed + count)
      if (failure === undefined)
        work.sequence.append(tokens, this.#vectorLength > 0 ? undefined : this.#hidden?.copy(first, count))
      else work.sequence.dropUnknown()
      first += count
    }
    for (const [index, { work, count }] of pass.entries()) {
      const error = failure ?? (await readResults(work, places[index] as LogitPosition[]))
      work.computed += count
      if (error === undefined && work.computed < work.tokens.length) continue
      this.#queue.splice(this.#queue.indexOf(work), 1)
      work.end(error)
    }
  }

  /** Placeholder tokens that join sequences into one pass, and are erased after it. */
  #fillers(pass: readonly Part[]): Work[] {
    const { library, memory } = this
    // These could not erase the placeholder.
    if (memory === null || this.forgets || this.#isShared) return []
    const tokensOf = (id: number) => this.#members.get(id)?.nextTokenIndex ?? 0
    const filler = (id: number): Work => {
      const nextPosition = library.lastPosition(memory, id) + 1
      const forget = () => void library.removeTokens(memory, id, nextPosition, -1)
      const nextTokenIndex = tokensOf(id)
      const sequence = { id, nextTokenIndex, nextPosition, append: forget, dropUnknown: forget }
      return {
        sequence,
        tokens: [anyToken],
        wanted: this.#hidden?.mixes === false ? 'last' : 'none',
        read: () => undefined,
        results: [],
        computed: 0,
        end: () => undefined,
      }
    }
    const most = this.batchSize - pass.reduce((sum, { count }) => sum + count, 0)
    // Not by positions: a grid has fewer than tokens.
    const hasRoom = (id: number) => tokensOf(id) < this.contextSize
    return this.#gaps.fill(pass.map(sequenceTokens), { most, hasRoom }).map(filler)
  }

  async #decode(batch: Params): Promise<Error | undefined> {
    const code = await this.library.decode.inThread(this.native, batch)
    this.passes += 1
    if (code === 0 && this.model.llama.gpu !== false) await this.library.synchronize.inThread(this.native)
    return code === 0 ? undefined : passError(code)
  }

  #makeInterruptible(): Interrupt | undefined {
    // A pass on a GPU is short, and llama.cpp cannot interrupt it.
    if (this.model.llama.gpu !== false || !this.#erases) return undefined
    this.library.setAbortCallback(this.native, this.library.readsFlag, this.#flag)
    return { raise: () => void this.#flag.fill(1), lower: () => void this.#flag.fill(0) }
  }

  async #apply(adapters: NonNullable<ContextOptions['adapters']>): Promise<void> {
    if (adapters.length === 0) return
    const pointers = new BigUint64Array(adapters.length)
    for (const [index, { path }] of adapters.entries()) pointers[index] = await this.model.adapter(path)
    const scales = Float32Array.from(adapters, ({ scale }) => scale)
    if (this.library.setAdapters(this.native, pointers, adapters.length, scales) !== 0) {
      throw new Error('llama.cpp could not apply the LoRA adapters')
    }
  }
}

type Made = {
  readonly native: Native
  readonly params: {
    readonly n_seq_max: number
    readonly kv_unified: boolean
    readonly n_threads: number
    readonly ctx_other?: unknown
  }
  readonly contextSize: number
  readonly batchSize: number
}

type Part = { readonly work: Work; readonly count: number }

function sequenceTokens({ work, count }: Part): SequenceTokens {
  return { sequence: work.sequence.id, tokens: count }
}

type LogitPosition = { readonly index: LogitIndex; readonly tokenIndex: number }

function addToBatch(batch: Batch, { work, count }: Part, vectorLength: number): LogitPosition[] {
  const { tokens, computed, wanted, sequence, vectors } = work
  const places: LogitPosition[] = []
  for (let offset = 0; offset < count; offset++) {
    const tokenIndex = computed + offset
    const isWanted = wanted === 'all' || (wanted === 'last' && tokenIndex === tokens.length - 1)
    const position = sequence.nextPosition + offset
    const vector = vectors?.subarray(tokenIndex * vectorLength, (tokenIndex + 1) * vectorLength)
    const place = { position, sequence: sequence.id, wanted: isWanted, ...(vector !== undefined && { vector }) }
    const at = batch.add(tokens[tokenIndex] as Token, place)
    if (isWanted) places.push({ index: at as LogitIndex, tokenIndex })
  }
  return places
}

/** Returns the error of a failed reader, which ends only its own work. */
async function readResults({ read, results }: Work, places: readonly LogitPosition[]): Promise<unknown> {
  try {
    for (const { index, tokenIndex } of places) {
      const result = read(index, tokenIndex)
      results.push(result instanceof Promise ? await result : result)
    }
    return undefined
  } catch (error) {
    return error
  }
}
