import { basename } from 'node:path'
import koffi, { type LibraryHandle, type TypeObject } from 'koffi'
import { defaults, structType } from './layouts.ts'

/**
 * llama.cpp's C interface. node-llama-cpp chooses the build for this machine and loads it; its functions are called here, by the names
 * and types of include/llama.h.
 */

type TypeSpec = TypeObject | string

/** An address in the memory of this process. */
export type Pointer = bigint
type Handle<Name extends string> = Pointer & { readonly __handle: Name }
export type Model = Handle<'llama_model'>
export type Vocabulary = Handle<'llama_vocab'>
export type Context = Handle<'llama_context'>
export type Memory = Handle<'llama_memory_t'>
export type Sampler = Handle<'llama_sampler'>
export type Adapter = Handle<'llama_adapter_lora'>
export type Device = Handle<'ggml_backend_dev_t'>

/** Memory of JavaScript that llama.cpp reads or writes during a call. */
type Bytes = NodeJS.ArrayBufferView | null

export type Params = Readonly<Record<string, unknown>>

/** Function pointers of another thread than JavaScript's get at no JavaScript: this one is called wherever llama.cpp computes. */
type Predicate = Pointer

/** The release whose layouts and functions these are. */
const release = '0.5.0'

type Called<F extends (...args: never[]) => unknown> = F & { inThread(...args: Parameters<F>): Promise<ReturnType<F>> }

export type Library = ReturnType<typeof declare>

let opened: Library | undefined

/** The library that node-llama-cpp has loaded. Throws where it is another release than this binding's, or none. */
export function openLibrary(): Library {
  opened ??= declare(findLibraries())
  return opened
}

type Libraries = Readonly<Record<keyof typeof fileNames, LibraryHandle>>

/** The names of the files, on every platform: `libllama.v0.5.0.so`, `libllama.dylib`, `llama.dll`. */
const fileNames = {
  llama: /^(lib)?llama(\.v[\d.]+)?\.(so|dylib|dll)(\.[\d.]+)?$/,
  ggml: /^(lib)?ggml(\.v[\d.]+)?\.(so|dylib|dll)(\.[\d.]+)?$/,
  base: /^(lib)?ggml-base(\.v[\d.]+)?\.(so|dylib|dll)(\.[\d.]+)?$/,
}

function findLibraries(): Libraries {
  const report = process.report as typeof process.report & { excludeNetwork: boolean }
  // Otherwise it looks up the names of open connections.
  report.excludeNetwork = true
  const { sharedObjects } = report.getReport() as unknown as { readonly sharedObjects: readonly string[] }
  const find = (name: RegExp) => {
    const path = sharedObjects.find((loaded) => name.test(basename(loaded.replaceAll('\\', '/'))))
    if (path === undefined) throw new Error(`llama.cpp's library ${name.source} is not loaded`)
    return koffi.load(path)
  }
  return { llama: find(fileNames.llama), ggml: find(fileNames.ggml), base: find(fileNames.base) }
}

function declare({ llama, ggml, base }: Libraries) {
  const pointer = 'void *'
  const textsType = koffi.pointer('str')
  const [modelParams, contextParams, batch, chainParams] = [
    structType('llama_model_params'),
    structType('llama_context_params'),
    structType('llama_batch'),
    structType('llama_sampler_chain_params'),
  ]
  const get = <F extends (...args: never[]) => unknown>(name: string, result: TypeSpec, args: TypeSpec[] = []): Called<F> => {
    const call = llama.func(name, result, args)
    const inThread = (...given: unknown[]) =>
      new Promise((resolve, reject) => {
        call.async(...given, (error: unknown, value: unknown) => (error === null ? resolve(value) : reject(error)))
      })
    return Object.assign(call, { inThread }) as unknown as Called<F>
  }
  const samplers = new Map<string, (...values: never[]) => Sampler>()
  const version = get<() => string>('llama_version', 'str')()
  if (version.replace(/-dev$/, '') !== release) {
    throw new Error(`this Dragoman calls llama.cpp ${release}, but version ${version} is installed: install Dragoman's own again`)
  }
  const functions = {
    modelDefaults: get<() => Params>('llama_model_default_params', modelParams),
    contextDefaults: get<() => Params>('llama_context_default_params', contextParams),

    loadModel: get<(path: string, params: Params) => Model | null>('llama_model_load_from_file', pointer, ['str', modelParams]),
    freeModel: get<(model: Model) => void>('llama_model_free', 'void', [pointer]),
    vocabularyOf: get<(model: Model) => Vocabulary>('llama_model_get_vocab', pointer, [pointer]),
    describe: get<(model: Model, to: Bytes, size: number) => number>('llama_model_desc', 'int', [pointer, pointer, 'size_t']),
    trainedContext: get<(model: Model) => number>('llama_model_n_ctx_train', 'int', [pointer]),
    vectorLength: get<(model: Model) => number>('llama_model_n_embd_out', 'int', [pointer]),
    classes: get<(model: Model) => number>('llama_model_n_cls_out', 'uint32_t', [pointer]),
    loadAdapter: get<(model: Model, path: string) => Adapter | null>('llama_adapter_lora_init', pointer, [pointer, 'str']),

    vocabularyType: get<(of: Vocabulary) => number>('llama_vocab_type', 'int', [pointer]),
    vocabularySize: get<(of: Vocabulary) => number>('llama_vocab_n_tokens', 'int', [pointer]),
    tokenText: get<(of: Vocabulary, token: number) => string | null>('llama_vocab_get_text', 'str', [pointer, 'int']),
    tokenAttributes: get<(of: Vocabulary, token: number) => number>('llama_vocab_get_attr', 'int', [pointer, 'int']),
    endsTurn: get<(of: Vocabulary, token: number) => boolean>('llama_vocab_is_eog', 'bool', [pointer, 'int']),
    addsBos: get<(of: Vocabulary) => boolean>('llama_vocab_get_add_bos', 'bool', [pointer]),
    addsEos: get<(of: Vocabulary) => boolean>('llama_vocab_get_add_eos', 'bool', [pointer]),
    specialToken: (of: Vocabulary, name: SpecialToken) =>
      get<(of: Vocabulary) => number>(`llama_vocab_${name}`, 'int', [pointer])(of),
    tokenize: get<
      (of: Vocabulary, text: Bytes, bytes: number, to: Bytes, size: number, addSpecial: boolean, parseSpecial: boolean) => number
    >('llama_tokenize', 'int', [pointer, pointer, 'int', pointer, 'int', 'bool', 'bool']),
    detokenize: get<
      (of: Vocabulary, tokens: Bytes, count: number, to: Bytes, size: number, removeSpecial: boolean, special: boolean) => number
    >('llama_detokenize', 'int', [pointer, pointer, 'int', pointer, 'int', 'bool', 'bool']),

    createContext: get<(model: Model, params: Params) => Context | null>('llama_init_from_model', pointer, [
      pointer,
      contextParams,
    ]),
    freeContext: get<(context: Context) => void>('llama_free', 'void', [pointer]),
    memoryOf: get<(context: Context) => Memory | null>('llama_get_memory', pointer, [pointer]),
    decode: get<(context: Context, batch: Params) => number>('llama_decode', 'int', [pointer, batch]),
    synchronize: get<(context: Context) => void>('llama_synchronize', 'void', [pointer]),
    logits: get<(context: Context, index: number) => Pointer | null>('llama_get_logits_ith', pointer, [pointer, 'int']),
    poolingOf: get<(context: Context) => number>('llama_pooling_type', 'int', [pointer]),
    sequenceVector: get<(context: Context, sequence: number) => Pointer | null>('llama_get_embeddings_seq', pointer, [
      pointer,
      'int',
    ]),
    tokenVector: get<(context: Context, index: number) => Pointer | null>('llama_get_embeddings_ith', pointer, [pointer, 'int']),
    setAbortCallback: get<(context: Context, predicate: Predicate, data: Bytes) => void>('llama_set_abort_callback', 'void', [
      pointer,
      pointer,
      pointer,
    ]),
    setAdapters: get<(context: Context, adapters: Bytes, count: number, scales: Bytes) => number>(
      'llama_set_adapters_lora',
      'int',
      [pointer, pointer, 'size_t', pointer],
    ),

    removeTokens: get<(memory: Memory, sequence: number, from: number, to: number) => boolean>('llama_memory_seq_rm', 'bool', [
      pointer,
      'int',
      'int',
      'int',
    ]),
    copyTokens: get<(memory: Memory, from: number, to: number, start: number, end: number) => void>(
      'llama_memory_seq_cp',
      'void',
      [pointer, 'int', 'int', 'int', 'int'],
    ),
    firstPosition: get<(memory: Memory, sequence: number) => number>('llama_memory_seq_pos_min', 'int', [pointer, 'int']),
    lastPosition: get<(memory: Memory, sequence: number) => number>('llama_memory_seq_pos_max', 'int', [pointer, 'int']),
    saveSequence: get<(context: Context, path: string, sequence: number, tokens: Bytes, count: number) => number>(
      'llama_state_seq_save_file',
      'size_t',
      [pointer, 'str', 'int', pointer, 'size_t'],
    ),
    loadSequence: get<(context: Context, path: string, sequence: number, tokens: Bytes, size: number, count: Bytes) => number>(
      'llama_state_seq_load_file',
      'size_t',
      [pointer, 'str', 'int', pointer, 'size_t', pointer],
    ),
    stateSize: get<(context: Context, sequence: number, flags: number) => number>('llama_state_seq_get_size_ext', 'size_t', [
      pointer,
      'int',
      'uint32_t',
    ]),
    getState: get<(context: Context, to: Bytes, size: number, sequence: number, flags: number) => number>(
      'llama_state_seq_get_data_ext',
      'size_t',
      [pointer, pointer, 'size_t', 'int', 'uint32_t'],
    ),
    setState: get<(context: Context, from: Bytes, size: number, sequence: number, flags: number) => number>(
      'llama_state_seq_set_data_ext',
      'size_t',
      [pointer, pointer, 'size_t', 'int', 'uint32_t'],
    ),

    createChain: get<(params: Params) => Sampler>('llama_sampler_chain_init', pointer, [chainParams]),
    addToChain: get<(chain: Sampler, sampler: Sampler) => void>('llama_sampler_chain_add', 'void', [pointer, pointer]),
    removeFromChain: get<(chain: Sampler, at: number) => Sampler>('llama_sampler_chain_remove', pointer, [pointer, 'int']),
    freeSampler: get<(sampler: Sampler) => void>('llama_sampler_free', 'void', [pointer]),
    resetSampler: get<(sampler: Sampler) => void>('llama_sampler_reset', 'void', [pointer]),
    accept: get<(sampler: Sampler, token: number) => void>('llama_sampler_accept', 'void', [pointer, 'int']),
    apply: get<(sampler: Sampler, candidates: Bytes) => void>('llama_sampler_apply', 'void', [pointer, pointer]),
    sample: get<(sampler: Sampler, context: Context, index: number) => number>('llama_sampler_sample', 'int', [
      pointer,
      pointer,
      'int',
    ]),
    /** A sampler by the name of its function, with the values and the types of its arguments. */
    createSampler: (name: string, ...args: readonly SamplerArgument[]): Sampler => {
      const known = samplers.get(name)
      const create =
        known ??
        get<(...values: never[]) => Sampler>(
          `llama_sampler_init_${name}`,
          pointer,
          args.map(([type]) => type),
        )
      samplers.set(name, create)
      return create(...(args.map(([, value]) => value) as never[]))
    },
    /**
     * Reads a flag in a struct: false of zeros, true of ones. llama.cpp asks this of its own threads, which JavaScript cannot answer.
     */
    readsFlag: base.symbol('ggml_get_no_alloc') as Pointer,
    deviceCount: ggml.func('ggml_backend_dev_count', 'size_t', []) as () => number,
    device: ggml.func('ggml_backend_dev_get', pointer, ['size_t']) as (index: number) => Device,
    deviceName: base.func('ggml_backend_dev_name', 'str', [pointer]) as (device: Device) => string,
    deviceDescription: base.func('ggml_backend_dev_description', 'str', [pointer]) as (device: Device) => string,
    deviceKind: base.func('ggml_backend_dev_type', 'int', [pointer]) as (device: Device) => number,
    deviceMemory: base.func('ggml_backend_dev_memory', 'void', [pointer, pointer, pointer]) as (
      device: Device,
      free: Bytes,
      total: Bytes,
    ) => void,
    textsType,
    progressType: koffi.pointer(koffi.proto('bool', ['float', pointer])),
  }
  checkDefaults('llama_model_params', functions.modelDefaults())
  checkDefaults('llama_context_params', functions.contextDefaults())
  return functions
}

export type SamplerArgument = readonly [type: TypeSpec, value: unknown]

export type SpecialToken = 'bos' | 'eos' | 'eot' | 'sep' | 'nl' | 'fim_pre' | 'fim_suf' | 'fim_mid'

/** A field that is shifted has another value. */
function checkDefaults(name: keyof typeof defaults, found: Params): void {
  const wrong = Object.entries(defaults[name]).find(([field, value]) => found[field] !== value)
  if (wrong === undefined) return
  const [field, value] = wrong
  throw new Error(
    `llama.cpp's ${name} has ${field} ${found[field]} instead of ${value}: it is another build of ${release} than this Dragoman calls; install Dragoman's own again`,
  )
}

/** Numbers at an address, until what is there is freed. */
export function floatsAt(address: Pointer, count: number): Float32Array {
  return new Float32Array(koffi.view(address, count * Float32Array.BYTES_PER_ELEMENT))
}

export function intAt(address: Pointer): number {
  return koffi.decode(address, 'int32_t')
}

export function addressOf(memory: NodeJS.ArrayBufferView): Pointer {
  return koffi.address(memory)
}

/** A function that llama.cpp may call from another thread, for as long as this takes. */
export async function withCallback<T>(
  callback: (...args: never[]) => unknown,
  { type, use }: { readonly type: TypeSpec; readonly use: (pointer: Pointer) => Promise<T> },
): Promise<T> {
  const pointer = koffi.register(callback, type)
  try {
    return await use(pointer)
  } finally {
    koffi.unregister(pointer)
  }
}
