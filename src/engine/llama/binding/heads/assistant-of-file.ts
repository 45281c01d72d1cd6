import type { GgufFileInfo } from 'node-llama-cpp'

type File = Pick<GgufFileInfo, 'metadata'>

/** The architecture of Gemma 4's assistants, which have no memory, but read that of their model. */
export const assistant = 'gemma4-assistant'

export function isAssistant({ metadata }: File): boolean {
  return metadata.general.architecture === assistant
}

/** Why llama.cpp, which aborts the process then, cannot draft with this assistant for that model. */
export function problemOfAssistant(file: File, model?: File): string | undefined {
  const architecture = model?.metadata.general.architecture
  if (model === undefined || architecture !== 'gemma4') return `an assistant of Gemma 4, and not of ${architecture ?? 'itself'}`
  const [own, its] = [factsOf(file), factsOf(model)]
  const { block_count: layers = 0, nextn_predict_layers: forNext = 0 } = own
  if (layers === 0 || layers !== forNext) return `${layers} layers, of which ${forNext} for it`
  if (own.embedding_length_out !== its.embedding_length)
    return `for a model of the width ${own.embedding_length_out}, and this one has ${its.embedding_length}`
  const windows = (own.attention?.sliding_window_pattern ?? []).slice(0, layers)
  if (windows.length < layers || !windows.includes(true)) return 'no layer with a window'
  // Layers with a window read this layer of the model, and the others the last one.
  const [windowed, last] = [-2, -1].map((at) => layerOf(its, at)) as [Layer, Layer]
  if (!windowed.hasWindow || last.hasWindow) return 'for a model with a window in its second last layer only'
  for (const [index, hasWindow] of windows.entries()) {
    const { heads, length } = layerOf(own, index - layers)
    const read = hasWindow ? windowed : last
    if (length !== read.length) return `for keys of the length ${length}, and this model has ${read.length}`
    if (heads % read.keyHeads !== 0) return `${heads} heads for the model's ${read.keyHeads}`
  }
  return undefined
}

type Layer = { readonly hasWindow: boolean; readonly length: number; readonly heads: number; readonly keyHeads: number }

/** The layers are counted from the last one, which is -1. */
function layerOf({ block_count = 0, attention = {} }: Facts, at: number): Layer {
  const of = (value: number | readonly number[] | undefined) => Number(Array.isArray(value) ? value[block_count + at] : value)
  const hasWindow = attention.sliding_window_pattern?.[block_count + at] === true
  return {
    hasWindow,
    length: Number(hasWindow ? attention.key_length_swa : attention.key_length),
    heads: of(attention.head_count),
    keyHeads: of(attention.head_count_kv),
  }
}

type Facts = {
  readonly block_count?: number
  readonly embedding_length?: number
  readonly embedding_length_out?: number
  readonly nextn_predict_layers?: number
  readonly attention?: {
    readonly head_count?: number | readonly number[]
    readonly head_count_kv?: number | readonly number[]
    readonly key_length?: number
    readonly key_length_swa?: number
    readonly sliding_window_pattern?: readonly boolean[]
  }
}

function factsOf({ metadata }: File): Facts {
  return (metadata as Readonly<Record<string, unknown>>)[metadata.general.architecture] as Facts
}
