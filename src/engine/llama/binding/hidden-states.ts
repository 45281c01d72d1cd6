import { floatsAt, type Library, type Context as Native, type Pointer } from './library.ts'

/**
 * The vectors that a context has computed for tokens besides their logits, which a head reads. The functions are in llama.cpp's
 * src/llama-ext.h, and have the names that a C++ compiler gives them: of Linux and macOS, or of Windows.
 */
const names = {
  set: ['_Z26llama_set_embeddings_nextnP13llama_contextbb', '?llama_set_embeddings_nextn@@YAXPEAUllama_context@@_N1@Z'],
  at: ['_Z30llama_get_embeddings_nextn_ithP13llama_contexti', '?llama_get_embeddings_nextn_ith@@YAPEAMPEAUllama_context@@H@Z'],
  setLayer: ['_Z28llama_set_nextn_layer_offsetP13llama_contexti', '?llama_set_nextn_layer_offset@@YAXPEAUllama_context@@H@Z'],
} as const

/** Those of one context. */
export class HiddenStates {
  readonly length: number
  readonly #native: Native
  readonly #functions: ReturnType<typeof functionsOf>

  /** `of`: the tokens that have one, all of them or those whose logits are wanted. */
  constructor(library: Library, native: Native, { length, of }: { readonly length: number; readonly of: 'all' | 'wanted' }) {
    this.length = length
    this.#native = native
    this.#functions = functionsOf(library)
    this.#functions.set(native, true, of === 'wanted')
  }

  /** Those of tokens that follow each other in the pass that was just computed. */
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

function functionsOf({ staged }: Library) {
  const [pointer, column] = ['void *', process.platform === 'win32' ? 1 : 0] as const
  try {
    return {
      set: staged<(context: Native, on: boolean, masked: boolean) => void>(names.set[column], 'void', [pointer, 'bool', 'bool']),
      at: staged<(context: Native, index: number) => Pointer | null>(names.at[column], pointer, [pointer, 'int']),
      setLayer: staged<(context: Native, index: number) => void>(names.setLayer[column], 'void', [pointer, 'int']),
    }
  } catch (cause) {
    throw new Error('this build of llama.cpp does not show what its layers compute', { cause })
  }
}
