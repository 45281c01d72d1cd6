import { basename } from 'node:path'
import koffi, { type LibraryHandle, type TypeObject } from 'koffi'
import { structType } from './layouts.ts'

/**
 * llama.cpp's C interface. node-llama-cpp chooses the build for this machine and loads it; its functions are called here, by their
 * prototypes in include/llama.h.
 */

/** An address in the memory of this process. */
export type Pointer = bigint
export type Handle<Name extends string> = Pointer & { readonly __handle: Name }
export type Model = Handle<'llama_model'>
export type Vocabulary = Handle<'llama_vocab'>
export type Context = Handle<'llama_context'>
export type Memory = Handle<'llama_memory_t'>
export type Sampler = Handle<'llama_sampler'>
export type Adapter = Handle<'llama_adapter_lora'>
export type Device = Handle<'ggml_backend_dev_t'>

/** Memory of JavaScript that llama.cpp reads or writes during a call. */
export type Bytes = NodeJS.ArrayBufferView | null

export type Params = Readonly<Record<string, unknown>>

/** llama.cpp calls this from its own threads, where a function pointer cannot run JavaScript. */
type Predicate = Pointer

/** The release whose layouts and functions these are. */
const release = '0.5.0'

type Called<F extends (...args: never[]) => unknown> = F & { inThread(...args: Parameters<F>): Promise<ReturnType<F>> }

export type Library = ReturnType<typeof declare>

let opened: Library | undefined

/** The library that node-llama-cpp has loaded. Throws where it is another release than this binding's. */
export function openLibrary(): Library {
  opened ??= declare(findLibraries(loadedFiles()))
  return opened
}

/** `version`: as the library reports it. */
export function checkRelease(version: string): void {
  if (version.replace(/-dev$/, '') === release) return
  throw new Error(`this Dragoman calls llama.cpp ${release}, but ${version} is installed: install Dragoman's own again`)
}

type Libraries = Readonly<Record<keyof typeof fileNames, string>>

/** `libllama.v0.5.0.so`, `libllama.cuda.v0.5.0.so`, `libllama.dylib`, `llama.dll`: GPU builds have their name in that of the file. */
const nameOf = (library: string) => new RegExp(`^(lib)?${library}(\\.[a-z]+)?(\\.v[\\d.]+)?\\.(so|dylib|dll)(\\.[\\d.]+)?$`)
const fileNames = { llama: nameOf('llama'), ggml: nameOf('ggml'), base: nameOf('ggml-base') }

/** llama.cpp's among the files that are loaded into a process, by their paths. Throws where one is missing. */
export function findLibraries(loaded: readonly string[]): Libraries {
  const find = (name: RegExp) => {
    const path = loaded.find((one) => name.test(basename(one.replaceAll('\\', '/'))))
    if (path === undefined) throw new Error(`llama.cpp's library ${name.source} is not loaded`)
    return path
  }
  return { llama: find(fileNames.llama), ggml: find(fileNames.ggml), base: find(fileNames.base) }
}

function loadedFiles(): readonly string[] {
  const report = process.report as typeof process.report & { excludeNetwork: boolean }
  // Otherwise it looks up the names of open connections.
  report.excludeNetwork = true
  return (report.getReport() as unknown as { readonly sharedObjects: readonly string[] }).sharedObjects
}

const pointer = 'void *'

type Declare = ReturnType<typeof declaring>

/** Declares functions of llama.cpp. */
export function declaring(llama: LibraryHandle) {
  const called = <F extends (...args: never[]) => unknown>(call: ReturnType<LibraryHandle['func']>): Called<F> => {
    const inThread = (...given: unknown[]) =>
      new Promise((resolve, reject) => {
        call.async(...given, (error: unknown, value: unknown) => (error === null ? resolve(value) : reject(error)))
      })
    return Object.assign(call, { inThread }) as unknown as Called<F>
  }
  return {
    get: <F extends (...args: never[]) => unknown>(prototype: string): Called<F> => called(llama.func(prototype)),
    /** For structs by value, whose types have no names. */
    getWith: <F extends (...args: never[]) => unknown>(
      name: string,
      result: TypeObject | string,
      args: (TypeObject | string)[],
    ): Called<F> => called(llama.func(name, result, args)),
  }
}

function declare(paths: Libraries) {
  const [llama, ggml, base] = [koffi.load(paths.llama), koffi.load(paths.ggml), koffi.load(paths.base)]
  const functions = declaring(llama)
  checkRelease(functions.get<() => string>('str llama_version()')())
  return {
    ...ofModels(functions),
    ...ofVocabularies(functions),
    ...ofContexts(functions),
    ...ofMemories(functions),
    ...ofSamplers(functions),
    ...ofDevices({ llama, ggml, base }),
    /** A function by the name that the compiler gave it. */
    staged: functions.getWith,
  }
}

function ofModels({ get, getWith }: Declare) {
  const modelParams = structType('llama_model_params')
  const load = getWith<(path: string, params: Params) => Model | null>('llama_model_load_from_file', pointer, [
    'str',
    modelParams,
  ])
  const onProgressType = koffi.pointer(koffi.proto('bool', ['float', pointer]))
  return {
    modelDefaults: getWith<() => Params>('llama_model_default_params', modelParams, []),

    /** Calls `onProgress` from this thread, which must not wait for it. */
    async loadModel(path: string, params: Params, onProgress: (done: number) => void): Promise<Model | null> {
      const goesOn = (done: number) => {
        onProgress(done)
        return true
      }
      const callback = koffi.register(goesOn, onProgressType)
      try {
        return await load.inThread(path, { ...params, progress_callback: callback })
      } finally {
        koffi.unregister(callback)
      }
    },
    mostDevices: get<() => number>('size_t llama_max_devices()'),
    freeModel: get<(model: Model) => void>('void llama_model_free(void *)'),
    vocabularyOf: get<(model: Model) => Vocabulary>('void *llama_model_get_vocab(void *)'),
    describe: get<(model: Model, to: Bytes, size: number) => number>('int llama_model_desc(void *, void *, size_t)'),
    trainedContext: get<(model: Model) => number>('int llama_model_n_ctx_train(void *)'),
    vectorLength: get<(model: Model) => number>('int llama_model_n_embd_out(void *)'),
    layers: get<(model: Model) => number>('int llama_model_n_layer(void *)'),
    /** The length of a vector that takes the place of a token. */
    inputLength: get<(model: Model) => number>('int llama_model_n_embd_inp(void *)'),
    classes: get<(model: Model) => number>('uint32_t llama_model_n_cls_out(void *)'),
    slidingWindow: get<(model: Model) => number>('int llama_model_n_swa(void *)'),
    headLayers: get<(model: Model) => number>('int llama_model_n_layer_nextn(void *)'),
    loadAdapter: get<(model: Model, path: string) => Adapter | null>('void *llama_adapter_lora_init(void *, str)'),
  }
}

function ofVocabularies({ get }: Declare) {
  return {
    vocabularyType: get<(of: Vocabulary) => number>('int llama_vocab_type(void *)'),
    vocabularySize: get<(of: Vocabulary) => number>('int llama_vocab_n_tokens(void *)'),
    tokenText: get<(of: Vocabulary, token: number) => string | null>('str llama_vocab_get_text(void *, int)'),
    tokenAttributes: get<(of: Vocabulary, token: number) => number>('int llama_vocab_get_attr(void *, int)'),
    endsTurn: get<(of: Vocabulary, token: number) => boolean>('bool llama_vocab_is_eog(void *, int)'),
    addsBos: get<(of: Vocabulary) => boolean>('bool llama_vocab_get_add_bos(void *)'),
    addsEos: get<(of: Vocabulary) => boolean>('bool llama_vocab_get_add_eos(void *)'),
    specialToken: (of: Vocabulary, name: SpecialToken) => get<(of: Vocabulary) => number>(`int llama_vocab_${name}(void *)`)(of),
    tokenize: get<
      (of: Vocabulary, text: Bytes, bytes: number, to: Bytes, size: number, addSpecial: boolean, parseSpecial: boolean) => number
    >('int llama_tokenize(void *, void *, int, void *, int, bool, bool)'),
    detokenize: get<
      (of: Vocabulary, tokens: Bytes, count: number, to: Bytes, size: number, removeSpecial: boolean, special: boolean) => number
    >('int llama_detokenize(void *, void *, int, void *, int, bool, bool)'),
  }
}

function ofContexts({ get, getWith }: Declare) {
  const contextParams = structType('llama_context_params')
  return {
    contextDefaults: getWith<() => Params>('llama_context_default_params', contextParams, []),
    createContext: getWith<(model: Model, params: Params) => Context | null>('llama_init_from_model', pointer, [
      pointer,
      contextParams,
    ]),
    freeContext: get<(context: Context) => void>('void llama_free(void *)'),
    memoryOf: get<(context: Context) => Memory | null>('void *llama_get_memory(void *)'),
    decode: getWith<(context: Context, batch: Params) => number>('llama_decode', 'int', [pointer, structType('llama_batch')]),
    encode: getWith<(context: Context, batch: Params) => number>('llama_encode', 'int', [pointer, structType('llama_batch')]),
    synchronize: get<(context: Context) => void>('void llama_synchronize(void *)'),
    logits: get<(context: Context, index: number) => Pointer | null>('void *llama_get_logits_ith(void *, int)'),
    setThreads: get<(context: Context, forTokens: number, forPrompts: number) => void>(
      'void llama_set_n_threads(void *, int32_t, int32_t)',
    ),
    /** How many tokens at the end of a pass recurrent layers can take back. */
    rollback: get<(context: Context) => number>('uint32_t llama_n_rs_seq(void *)'),
    setCausal: get<(context: Context, isCausal: boolean) => void>('void llama_set_causal_attn(void *, bool)'),
    poolingOf: get<(context: Context) => number>('int llama_pooling_type(void *)'),
    sequenceVector: get<(context: Context, sequence: number) => Pointer | null>('void *llama_get_embeddings_seq(void *, int)'),
    setAbortCallback: get<(context: Context, predicate: Predicate, data: Bytes) => void>(
      'void llama_set_abort_callback(void *, void *, void *)',
    ),
    setAdapters: get<(context: Context, adapters: Bytes, count: number, scales: Bytes) => number>(
      'int llama_set_adapters_lora(void *, void *, size_t, void *)',
    ),
  }
}

function ofMemories({ get }: Declare) {
  return {
    removeTokens: get<(memory: Memory, sequence: number, from: number, to: number) => boolean>(
      'bool llama_memory_seq_rm(void *, int, int, int)',
    ),
    copyTokens: get<(memory: Memory, from: number, to: number, start: number, end: number) => void>(
      'void llama_memory_seq_cp(void *, int, int, int, int)',
    ),
    firstPosition: get<(memory: Memory, sequence: number) => number>('int llama_memory_seq_pos_min(void *, int)'),
    lastPosition: get<(memory: Memory, sequence: number) => number>('int llama_memory_seq_pos_max(void *, int)'),
    stateSize: get<(context: Context, sequence: number, flags: number) => number>(
      'size_t llama_state_seq_get_size_ext(void *, int, uint32_t)',
    ),
    getState: get<(context: Context, to: Bytes, size: number, sequence: number, flags: number) => number>(
      'size_t llama_state_seq_get_data_ext(void *, void *, size_t, int, uint32_t)',
    ),
    setState: get<(context: Context, from: Bytes, size: number, sequence: number, flags: number) => number>(
      'size_t llama_state_seq_set_data_ext(void *, void *, size_t, int, uint32_t)',
    ),
  }
}

function ofSamplers({ get, getWith }: Declare) {
  const samplers = new Map<string, (...values: never[]) => Sampler>()
  return {
    createChain: getWith<(params: Params) => Sampler>('llama_sampler_chain_init', pointer, [
      structType('llama_sampler_chain_params'),
    ]),
    addToChain: get<(chain: Sampler, sampler: Sampler) => void>('void llama_sampler_chain_add(void *, void *)'),
    removeFromChain: get<(chain: Sampler, at: number) => Sampler>('void *llama_sampler_chain_remove(void *, int)'),
    freeSampler: get<(sampler: Sampler) => void>('void llama_sampler_free(void *)'),
    resetSampler: get<(sampler: Sampler) => void>('void llama_sampler_reset(void *)'),
    accept: get<(sampler: Sampler, token: number) => void>('void llama_sampler_accept(void *, int)'),
    apply: get<(sampler: Sampler, candidates: Bytes) => void>('void llama_sampler_apply(void *, void *)'),
    sample: get<(sampler: Sampler, context: Context, index: number) => number>('int llama_sampler_sample(void *, void *, int)'),
    /** A sampler by the name of its function, with the types and the values of its arguments. */
    createSampler(name: string, ...args: readonly SamplerArgument[]): Sampler {
      const types = args.map(([type]) => type).join(', ')
      const create = samplers.get(name) ?? get<(...values: never[]) => Sampler>(`void *llama_sampler_init_${name}(${types})`)
      samplers.set(name, create)
      return create(...(args.map(([, value]) => value) as never[]))
    },
  }
}

function ofDevices({ llama, ggml, base }: Record<keyof Libraries, LibraryHandle>) {
  return {
    /** Reads a flag in a struct: false of zeros, true of ones. llama.cpp asks from its own threads, which cannot call JavaScript. */
    readsFlag: base.symbol('ggml_get_no_alloc') as Pointer,
    /** The memory of the machine, where weights may stay. */
    cpuMemory: base.func('void *ggml_backend_cpu_buffer_type()') as () => Pointer,
    deviceCount: ggml.func('size_t ggml_backend_dev_count()') as () => number,
    /** Does nothing: for callbacks that are called from other threads. */
    nothing: llama.symbol('llama_supports_mmap') as Pointer,
    device: ggml.func('void *ggml_backend_dev_get(size_t)') as (index: number) => Device,
    deviceName: base.func('str ggml_backend_dev_name(void *)') as (device: Device) => string,
    deviceDescription: base.func('str ggml_backend_dev_description(void *)') as (device: Device) => string,
    deviceKind: base.func('int ggml_backend_dev_type(void *)') as (device: Device) => number,
    deviceMemory: base.func('void ggml_backend_dev_memory(void *, void *, void *)') as (
      device: Device,
      free: Bytes,
      total: Bytes,
    ) => void,
  }
}

/** The type in C, and the value. */
export type SamplerArgument = readonly [type: string, value: unknown]

export type SpecialToken = 'bos' | 'eos' | 'eot' | 'sep' | 'nl' | 'fim_pre' | 'fim_suf' | 'fim_mid'

/** Numbers at an address, until what is there is freed. */
export function floatsAt(address: Pointer, count: number): Float32Array {
  return new Float32Array(koffi.view(address, count * Float32Array.BYTES_PER_ELEMENT))
}

/** As `floatsAt`, of whole numbers. */
export function intsAt(address: Pointer, count: number): Int32Array {
  return new Int32Array(koffi.view(address, count * Int32Array.BYTES_PER_ELEMENT))
}

export function intAt(address: Pointer): number {
  return koffi.decode(address, 'int32_t')
}

/** Makes the functions of the loaded libraries available to one that is loaded later and is not linked with them. */
export function shareLibraries(): void {
  const { base, ggml, llama } = findLibraries(loadedFiles())
  for (const path of [base, ggml, llama]) koffi.load(path, { global: true })
}

export function addressOf(memory: NodeJS.ArrayBufferView): Pointer {
  return koffi.address(memory)
}
