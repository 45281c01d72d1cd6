import koffi from 'koffi'
import { structType } from './layouts.ts'
import {
  addressOf,
  type Bytes,
  declaring,
  floatsAt,
  type Handle,
  type Model as NativeModel,
  type Params,
  type Pointer,
  shareLibraries,
} from './library.ts'
import type { Model } from './model.ts'
import type { Token } from './tokenizer.ts'
import { Turns } from './turns.ts'

/** llama.cpp's multimodal part (tools/mtmd/mtmd.h, mtmd-helper.h), which is a library of its own. */

type Native = Handle<'mtmd_context'>
type Bitmap = Handle<'mtmd_bitmap'>
type Chunks = Handle<'mtmd_input_chunks'>
type Chunk = Handle<'mtmd_input_chunk'>

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
  readonly onLog: (level: number, message: string) => void
}

/** A multimodal projector in memory, for one model. Only one call may run at a time. */
export class Senses {
  readonly reads: { readonly image: boolean; readonly audio: boolean }
  /** The positions of a vector are several numbers. */
  readonly #hasGrid: boolean
  readonly #library: Library
  readonly #native: Native
  readonly #vectorLength: number
  readonly #turns = new Turns()

  private constructor(library: Library, native: Native, vectorLength: number) {
    this.#library = library
    this.#native = native
    this.#vectorLength = vectorLength
    this.#hasGrid = library.hasGrid(native)
    this.reads = { image: library.readsImages(native), audio: library.readsAudio(native) }
  }

  /** The library writes why a projector cannot be loaded. */
  static async load(model: Model, { libraryPath, projectorPath, threads, usesGpu, onLog }: SensesOptions): Promise<Senses> {
    const library = openSenses(libraryPath, model.library.nothing)
    const params = { ...library.defaults(), use_gpu: usesGpu, print_timings: false, n_threads: threads }
    const native = await library.logging(onLog, () => library.load.inThread(projectorPath, model.native, params))
    if (native === null) throw new Error(`the projector '${projectorPath}' cannot be used with this model`)
    const senses = new Senses(library, native, model.library.inputLength(model.native))
    model.onDispose(() => senses.#turns.take(() => library.free(native)))
    return senses
  }

  /** Decodes a picture or a sound; undefined: it cannot be. The medium must be released. */
  read(bytes: Uint8Array): Promise<Medium | undefined> {
    return this.#turns.take(async () => {
      const library = this.#library
      const options = library.readDefaults()
      const { bitmap } = await library.readBitmap.inThread(this.#native, bytes, bytes.length, false, options)
      if (bitmap === null) return undefined
      const chunks = library.createChunks()
      const part = BigUint64Array.of(0n, bitmap)
      const code = await library.tokenize.inThread(this.#native, chunks, BigUint64Array.of(addressOf(part)), 1, false)
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
    return address === null ? [] : ([...new Int32Array(koffi.view(address, length * Int32Array.BYTES_PER_ELEMENT))] as Token[])
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

  async #encode(chunk: Chunk): Promise<Float32Array> {
    const library = this.#library
    if ((await library.encode.inThread(this.#native, chunk)) !== 0) throw new Error('the projector could not encode it')
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

type Library = ReturnType<typeof declare>

let opened: Library | undefined

function openSenses(path: string, nothing: Pointer): Library {
  if (opened === undefined) {
    shareLibraries()
    opened = declare(path, nothing)
  }
  return opened
}

function declare(path: string, nothing: Pointer) {
  const handle = koffi.load(path)
  const { get, getWith } = declaring(handle)
  const pointer = 'void *'
  const [contextParams, readOptions] = [structType('mtmd_context_params'), structType('mtmd_helper_video_init_params')]
  const wrapper = structType('mtmd_helper_bitmap_wrapper')
  type Read = (native: Native, bytes: Bytes, size: number, isPlaceholder: boolean, options: Params) => { bitmap: Bitmap | null }
  const setLog = get<(callback: Pointer, data: null) => void>('void mtmd_helper_log_set(void *, void *)')
  const logType = koffi.pointer(koffi.proto('void', ['int', 'str', pointer]))
  return {
    defaults: getWith<() => Params>('mtmd_context_params_default', contextParams, []),
    load: getWith<(path: string, model: NativeModel, params: Params) => Native | null>('mtmd_init_from_file', pointer, [
      'str',
      pointer,
      contextParams,
    ]),
    /** While `work` runs, what the library writes goes to `onLog`, and nowhere else afterwards. */
    async logging<T>(onLog: SensesOptions['onLog'], work: () => Promise<T>): Promise<T> {
      const callback = koffi.register(onLog, logType)
      setLog(callback as Pointer, null)
      try {
        return await work()
      } finally {
        // A callback would hold up the library's threads.
        setLog(nothing, null)
        koffi.unregister(callback)
      }
    },
    free: get<(native: Native) => void>('void mtmd_free(void *)'),
    readsImages: get<(native: Native) => boolean>('bool mtmd_support_vision(void *)'),
    readsAudio: get<(native: Native) => boolean>('bool mtmd_support_audio(void *)'),
    hasGrid: get<(native: Native) => boolean>('bool mtmd_decode_use_mrope(void *)'),
    isNonCausal: get<(native: Native, chunk: Chunk) => boolean>('bool mtmd_decode_use_non_causal(void *, void *)'),
    readDefaults: getWith<() => Params>('mtmd_helper_init_opt_default', readOptions, []),
    readBitmap: getWith<Read>('mtmd_helper_bitmap_init_from_buf', wrapper, [pointer, pointer, 'size_t', 'bool', readOptions]),
    freeBitmap: get<(bitmap: Bitmap) => void>('void mtmd_bitmap_free(void *)'),
    createChunks: get<() => Chunks>('void *mtmd_input_chunks_init()'),
    freeChunks: get<(chunks: Chunks) => void>('void mtmd_input_chunks_free(void *)'),
    countChunks: get<(chunks: Chunks) => number>('size_t mtmd_input_chunks_size(void *)'),
    chunkAt: get<(chunks: Chunks, index: number) => Chunk>('void *mtmd_input_chunks_get(void *, size_t)'),
    tokenize: get<(native: Native, to: Chunks, parts: Bytes, count: number, addsSpecial: boolean) => number>(
      'int mtmd_tokenize_from_parts(void *, void *, void *, size_t, bool)',
    ),
    typeOf: get<(chunk: Chunk) => number>('int mtmd_input_chunk_get_type(void *)'),
    textOf: get<(chunk: Chunk, count: Bytes) => Pointer | null>('void *mtmd_input_chunk_get_tokens_text(void *, void *)'),
    imageOf: get<(chunk: Chunk) => Pointer | null>('void *mtmd_input_chunk_get_tokens_image(void *)'),
    tokensOf: get<(chunk: Chunk) => number>('size_t mtmd_input_chunk_get_n_tokens(void *)'),
    positionsOf: get<(chunk: Chunk) => number>('int mtmd_input_chunk_get_n_pos(void *)'),
    imagePositions: get<(image: Pointer, start: number, to: Bytes) => void>(
      'void mtmd_helper_image_get_decoder_pos(void *, int, void *)',
    ),
    encode: get<(native: Native, chunk: Chunk) => number>('int mtmd_encode_chunk(void *, void *)'),
    vectors: get<(native: Native) => Pointer>('void *mtmd_get_output_embd(void *)'),
  }
}
