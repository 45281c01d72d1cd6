import { floatsAt, type Library, type Context as Native, type Pointer } from './library.ts'

/**
 * The vectors that a context has computed for tokens besides their logits, which a head reads. The functions are in llama.cpp's
 * src/llama-ext.h, and have the names that a C++ compiler gives them: of Linux and macOS, or of Windows.
 */
const names = {
  set: ['_Z26llama_set_embeddings_nextnP13llama_contextbb', '?llama_set_embeddings_nextn@@YAXPEAUllama_context@@_N1@Z'],
  at: ['_Z30llama_get_embeddings_nextn_ithP13llama_contexti', '?llama_get_embeddings_nextn_ith@@YAPEAMPEAUllama_context@@H@Z'],
  setInput: [
    '_Z30llama_set_embeddings_layer_inpP13llama_contextjb',
    '?llama_set_embeddings_layer_inp@@YAXPEAUllama_context@@I_N@Z',
  ],
  input: ['_Z30llama_get_embeddings_layer_inpP13llama_contextj', '?llama_get_embeddings_layer_inp@@YAPEAMPEAUllama_context@@I@Z'],
  setLayer: ['_Z28llama_set_nextn_layer_offsetP13llama_contexti', '?llama_set_nextn_layer_offset@@YAXPEAUllama_context@@H@Z'],
} as const

export type Hidden = {
  /** Numbers for each token. */
  readonly length: number
  /** A pass of several sequences may want the logits of some tokens only; otherwise llama.cpp confuses their order. */
  readonly mixes: boolean
  /** Those of tokens that follow each other in the pass that was just computed. */
  copy(first: number, count?: number): Float32Array
}

type Options = { readonly length: number; readonly of: 'all' | 'wanted'; readonly mixes?: boolean }

/** Those of the last layer of a context. */
export class HiddenStates implements Hidden {
  readonly length: number
  readonly mixes: boolean
  readonly #native: Native
  readonly #functions: ReturnType<typeof functionsOf>

  /** `of`: the tokens that have one, all of them or those whose logits are wanted. */
  constructor(library: Library, native: Native, { length, of, mixes = of === 'wanted' }: Options) {
    this.length = length
    this.mixes = mixes
    this.#native = native
    this.#functions = functionsOf(library)
    this.#functions.set(native, true, of === 'wanted')
  }

  copy(first: number, count = 1): Float32Array {
    const address = this.#functions.at(this.#native, first)
    if (address === null) throw new Error('llama.cpp has no hidden states of this pass')
    return floatsAt(address, count * this.length).slice()
  }

  /** Which of several heads the next pass computes. */
  set layer(index: number) {
    this.#functions.setLayer(this.#native, index)
  }
}

/** The inputs of some layers of a context, one after the other for each token; behind the last layer, its output. */
export class LayerInputs implements Hidden {
  readonly length: number
  readonly mixes = false
  readonly #native: Native
  readonly #layers: readonly number[]
  readonly #width: number
  readonly #functions: ReturnType<typeof functionsOf>
  readonly #last: HiddenStates | undefined
  readonly #depth: number

  constructor(
    library: Library,
    native: Native,
    { layers, depth, width }: { readonly layers: readonly number[]; readonly depth: number; readonly width: number },
  ) {
    this.length = layers.length * width
    this.#native = native
    this.#layers = layers
    this.#width = width
    this.#depth = depth
    this.#functions = functionsOf(library)
    for (const layer of layers) if (layer < depth) this.#functions.setInput(native, layer, true)
    this.#last = layers.includes(depth) ? new HiddenStates(library, native, { length: width, of: 'all' }) : undefined
  }

  copy(first: number, count = 1): Float32Array {
    const all = new Float32Array(count * this.length)
    for (const [index, layer] of this.#layers.entries()) {
      const rows = this.#rowsOf(layer, first, count)
      for (let token = 0; token < count; token++) {
        const row = rows.subarray(token * this.#width, (token + 1) * this.#width)
        all.set(row, token * this.length + index * this.#width)
      }
    }
    return all
  }

  #rowsOf(layer: number, first: number, count: number): Float32Array {
    if (layer === this.#depth && this.#last !== undefined) return this.#last.copy(first, count)
    const address = this.#functions.input(this.#native, layer)
    if (address === null) throw new Error('llama.cpp has no hidden states of this pass')
    return floatsAt(address, (first + count) * this.#width).subarray(first * this.#width)
  }
}

function functionsOf({ staged }: Library) {
  const [pointer, column] = ['void *', process.platform === 'win32' ? 1 : 0] as const
  try {
    return {
      set: staged<(context: Native, on: boolean, masked: boolean) => void>(names.set[column], 'void', [pointer, 'bool', 'bool']),
      at: staged<(context: Native, index: number) => Pointer | null>(names.at[column], pointer, [pointer, 'int']),
      setInput: staged<(context: Native, layer: number, on: boolean) => void>(names.setInput[column], 'void', [
        pointer,
        'uint32_t',
        'bool',
      ]),
      input: staged<(context: Native, layer: number) => Pointer | null>(names.input[column], pointer, [pointer, 'uint32_t']),
      setLayer: staged<(context: Native, index: number) => void>(names.setLayer[column], 'void', [pointer, 'int']),
    }
  } catch (cause) {
    throw new Error('this build of llama.cpp does not show what its layers compute', { cause })
  }
}
