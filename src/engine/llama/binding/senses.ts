import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { threadModule, threadSource } from '../../../threads/thread-module.ts'
import { addressOf, floatsAt, intsAt, shareLibraries } from './library.ts'
import type { Model } from './model.ts'
import {
  type Bitmap,
  type Chunk,
  type Chunks,
  declareSenses,
  type OnSensesLog,
  type Projector,
  type SensesLibrary,
} from './senses-library.ts'
import type { Token } from './tokenizer.ts'
import { Turns } from './turns.ts'

/** `enum mtmd_input_chunk_type` */
const chunkTypes = { text: 0, image: 1 }
/** The numbers of a position (`mtmd_decoder_pos`), in the order in which a batch has them. */
const axes = ['t', 'y', 'x', 'z'] as const
const axisOffsets = { t: 0, x: 1, y: 2, z: 3 }

/** Vectors in place of tokens: a picture, a slice of one, or a part of a sound. */
export type Slice = {
  readonly type: 'slice'
  readonly tokens: number
  /** How far the positions of what follows move on: fewer than tokens where a picture has a grid. */
  readonly positions: number
  /** Otherwise its vectors see each other, and must be computed in one pass. */
  readonly isCausal: boolean
  /** The positions of its vectors where each has several: at position 0, and how they move with it. */
  readonly grid?: { readonly at: Int32Array; readonly moves: Int32Array } | undefined
}

/** A medium as the model reads it: tokens of the projector, and slices between them. */
export type MediumParts = readonly (Slice | { readonly type: 'text'; readonly tokens: readonly Token[] })[]

export type SensesOptions = {
  readonly libraryPath: string
  readonly projectorPath: string
  readonly threads: number
  readonly usesGpu: boolean
  /** Receives what the projector's load writes. */
  readonly onLog: OnSensesLog
}

type Parts = {
  readonly library: SensesLibrary
  readonly native: Projector
  /** Calls the functions that take long. */
  readonly thread: Worker
  /** The numbers of a vector. */
  readonly vectorLength: number
}

/** A multimodal projector in memory, for one model. Only one call may run at a time. */
export class Senses {
  readonly reads: { readonly image: boolean; readonly audio: boolean }
  /** The positions of a vector are several numbers. */
  readonly #hasGrid: boolean
  readonly #library: SensesLibrary
  readonly #native: Projector
  readonly #thread: Worker
  readonly #vectorLength: number
  readonly #turns = new Turns()

  private constructor({ library, native, thread, vectorLength }: Parts) {
    this.#thread = thread
    this.#library = library
    this.#native = native
    this.#vectorLength = vectorLength
    this.#hasGrid = library.hasGrid(native)
    this.reads = { image: library.readsImages(native), audio: library.readsAudio(native) }
  }

  /** The library writes why a projector cannot be loaded. */
  static async load(model: Model, { libraryPath, projectorPath, threads, usesGpu, onLog }: SensesOptions): Promise<Senses> {
    shareLibraries()
    const { nothing } = model.library
    const library = declareSenses(libraryPath, nothing)
    const params = { ...library.defaults(), use_gpu: usesGpu, print_timings: false, n_threads: threads }
    const native = await library.logging(onLog, () => library.load.inThread(projectorPath, model.native, params))
    if (native === null) throw new Error(`the projector '${projectorPath}' cannot be used with this model`)
    const thread = new Worker(threadSource(threadModule('senses-thread', import.meta.url)), {
      eval: true,
      env: {},
      workerData: { path: libraryPath, nothing },
      resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 8 },
    })
    thread.unref()
    const senses = new Senses({ library, native, thread, vectorLength: model.library.inputLength(model.native) })
    model.onDispose(() =>
      senses.#turns.take(async () => {
        await thread.terminate()
        library.free(native)
      }),
    )
    return senses
  }

  /** Decodes a picture or a sound; undefined: it cannot be. The medium must be released. */
  read(bytes: Uint8Array): Promise<Medium | undefined> {
    return this.#turns.take(async () => {
      const library = this.#library
      const options = library.readDefaults()
      const { bitmap } = (await this.#call('readBitmap', [this.#native, bytes, bytes.length, false, options])) as {
        readonly bitmap: Bitmap | null
      }
      if (bitmap === null) return undefined
      const chunks = library.createChunks()
      const part = BigUint64Array.of(0n, bitmap)
      const code = await this.#call('tokenize', [this.#native, chunks, BigUint64Array.of(addressOf(part)), 1, false])
      // The part stays in memory until here.
      part.fill(0n)
      library.freeBitmap(bitmap)
      if (code === 0) return this.#describe(chunks)
      library.freeChunks(chunks)
      return undefined
    })
  }

  #describe(chunks: Chunks): Medium {
    const library = this.#library
    const slices = new Map<number, Chunk>()
    const parts = Array.from({ length: Number(library.countChunks(chunks)) }, (_, index) => {
      const chunk = library.chunkAt(chunks, index)
      if (library.typeOf(chunk) === chunkTypes.text) return { type: 'text' as const, tokens: this.#textOf(chunk) }
      slices.set(index, chunk)
      return this.#sliceOf(chunk)
    })
    return {
      parts,
      encode: (index) => this.#turns.take(() => this.#encode(slices.get(index) as Chunk)),
      release: () => void this.#turns.take(() => library.freeChunks(chunks)),
    }
  }

  #textOf(chunk: Chunk): Token[] {
    const count = new BigUint64Array(1)
    const address = this.#library.textOf(chunk, count)
    const length = Number(count[0])
    return address === null ? [] : ([...intsAt(address, length)] as Token[])
  }

  #sliceOf(chunk: Chunk): Slice {
    const library = this.#library
    const tokens = Number(library.tokensOf(chunk))
    const grid = this.#hasGrid ? this.#gridOf(chunk, tokens) : undefined
    const isCausal = !library.isNonCausal(this.#native, chunk)
    return { type: 'slice', tokens, positions: library.positionsOf(chunk), isCausal, grid }
  }

  #gridOf(chunk: Chunk, tokens: number): Slice['grid'] {
    const at = this.#positionsFrom(chunk, tokens, 0)
    const next = this.#positionsFrom(chunk, tokens, 1)
    return { at, moves: next.map((value, index) => value - (at[index] as number)) }
  }

  /** One axis after the other, of all tokens. */
  #positionsFrom(chunk: Chunk, tokens: number, start: number): Int32Array {
    const library = this.#library
    const image = library.imageOf(chunk)
    // A sound has no axes.
    if (image === null) return Int32Array.from({ length: axes.length * tokens }, (_, index) => start + (index % tokens))
    const found = new Uint32Array(axes.length * tokens)
    library.imagePositions(image, start, found)
    return Int32Array.from(
      axes.flatMap((axis) => Array.from({ length: tokens }, (_, token) => found[4 * token + axisOffsets[axis]] as number)),
    )
  }

  /** Calls a function of the library in its thread. */
  async #call(name: 'readBitmap' | 'tokenize' | 'encode', args: readonly unknown[]): Promise<unknown> {
    this.#thread.postMessage({ name, args })
    const [result] = await once(this.#thread, 'message')
    return result
  }

  async #encode(chunk: Chunk): Promise<Float32Array> {
    const library = this.#library
    if ((await this.#call('encode', [this.#native, chunk])) !== 0) throw new Error('the projector could not encode it')
    const tokens = Number(library.tokensOf(chunk))
    return floatsAt(library.vectors(this.#native), tokens * this.#vectorLength).slice()
  }
}

/** A picture or a sound that was decoded. */
export type Medium = {
  readonly parts: MediumParts
  /** The vectors of a slice, by its index in the parts. */
  encode(index: number): Promise<Float32Array>
  /** Frees what encoding needs. */
  release(): void
}
