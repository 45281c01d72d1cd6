import koffi from 'koffi'
import { structType } from './layouts.ts'
import { type Bytes, declaring, type Handle, type Model, type Params, type Pointer } from './library.ts'

/** llama.cpp's multimodal part (tools/mtmd/mtmd.h, mtmd-helper.h), a library of its own. */

export type Projector = Handle<'mtmd_context'>
export type Bitmap = Handle<'mtmd_bitmap'>
export type Chunks = Handle<'mtmd_input_chunks'>
export type Chunk = Handle<'mtmd_input_chunk'>

export type SensesLibrary = ReturnType<typeof declareSenses>

/** Receives a line that the library writes. */
export type OnSensesLog = (level: number, message: string) => void

/** The library at a path. `nothing`: a function without effect. */
export function declareSenses(path: string, nothing: Pointer) {
  const handle = koffi.load(path)
  const { get, getWith } = declaring(handle)
  const pointer = 'void *'
  const [contextParams, readOptions] = [structType('mtmd_context_params'), structType('mtmd_helper_video_init_params')]
  const wrapper = structType('mtmd_helper_bitmap_wrapper')
  type Read = (
    native: Projector,
    bytes: Bytes,
    size: number,
    isPlaceholder: boolean,
    options: Params,
  ) => { bitmap: Bitmap | null }
  const setLog = get<(callback: Pointer, data: null) => void>('void mtmd_helper_log_set(void *, void *)')
  const logType = koffi.pointer(koffi.proto('void', ['int', 'str', pointer]))
  return {
    defaults: getWith<() => Params>('mtmd_context_params_default', contextParams, []),
    load: getWith<(path: string, model: Model, params: Params) => Projector | null>('mtmd_init_from_file', pointer, [
      'str',
      pointer,
      contextParams,
    ]),
    /** While `work` runs, what the library writes goes to `onLog`, and nowhere else afterwards. */
    async logging<T>(onLog: OnSensesLog, work: () => Promise<T>): Promise<T> {
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
    free: get<(native: Projector) => void>('void mtmd_free(void *)'),
    readsImages: get<(native: Projector) => boolean>('bool mtmd_support_vision(void *)'),
    readsAudio: get<(native: Projector) => boolean>('bool mtmd_support_audio(void *)'),
    hasGrid: get<(native: Projector) => boolean>('bool mtmd_decode_use_mrope(void *)'),
    isNonCausal: get<(native: Projector, chunk: Chunk) => boolean>('bool mtmd_decode_use_non_causal(void *, void *)'),
    readDefaults: getWith<() => Params>('mtmd_helper_init_opt_default', readOptions, []),
    readBitmap: getWith<Read>('mtmd_helper_bitmap_init_from_buf', wrapper, [pointer, pointer, 'size_t', 'bool', readOptions]),
    freeBitmap: get<(bitmap: Bitmap) => void>('void mtmd_bitmap_free(void *)'),
    createChunks: get<() => Chunks>('void *mtmd_input_chunks_init()'),
    freeChunks: get<(chunks: Chunks) => void>('void mtmd_input_chunks_free(void *)'),
    countChunks: get<(chunks: Chunks) => number>('size_t mtmd_input_chunks_size(void *)'),
    chunkAt: get<(chunks: Chunks, index: number) => Chunk>('void *mtmd_input_chunks_get(void *, size_t)'),
    tokenize: get<(native: Projector, to: Chunks, parts: Bytes, count: number, addsSpecial: boolean) => number>(
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
    encode: get<(native: Projector, chunk: Chunk) => number>('int mtmd_encode_chunk(void *, void *)'),
    vectors: get<(native: Projector) => Pointer>('void *mtmd_get_output_embd(void *)'),
  }
}
