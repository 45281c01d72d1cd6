import { type FromHeader, readHeader, Unreadable } from './gguf-cursor.ts'
import { type Metadata, readMetadata } from './gguf-metadata.ts'

/** The facts of a model's file that its memory depends on; missing ones are assumed so that the model is larger. */
export type GgufFacts = {
  readonly architecture: string
  readonly trainedContext: number | undefined
  readonly vocabularySize: number
  readonly embeddingLength: number
  readonly headCount: number
  readonly layers: readonly Layer[]
  /** Those that predict further tokens, which are not loaded without need. */
  readonly headLayers: readonly Layer[]
}

/** The memory of a layer: every token, only the last ones, or a state of the sequence. */
export type Layer =
  | { readonly type: 'attention'; readonly keyValues: number; readonly valueValues: number; readonly window?: number }
  | { readonly type: 'recurrent'; readonly stateValues: number }

/** llama.cpp loads models of up to 512. */
const mostLayers = 1024

/** Architectures of heads whose layers read the memory of the model that they draft for. */
const readsOfItsModel: ReadonlySet<string> = new Set(['gemma4-assistant'])

/** One layer in this many attends to all tokens, in architectures whose files do not list them. */
const fullAttentionEvery: Readonly<Record<string, number>> = {
  cohere2: 4,
  exaone4: 4,
  gemma2: 2,
  gemma3: 6,
  gemma3n: 5,
  'gpt-oss': 2,
  llama4: 4,
}

export function readGgufFacts(begin: Buffer): FromHeader<GgufFacts> {
  return readHeader(begin, (cursor) => {
    cursor.skip(8)
    return factsIn(readMetadata(cursor))
  })
}

function factsIn(metadata: Metadata): GgufFacts {
  const name = metadata.get('general.architecture')
  const architecture = typeof name === 'string' ? name : ''
  const of = (key: string) => metadata.get(`${architecture}.${key}`)
  const number = (key: string) => {
    const value = of(key)
    return typeof value === 'number' ? value : undefined
  }
  /** The value of a layer: its own, or the one for all. */
  const perLayer = (key: string, layer: number) => {
    const value = of(key)
    if (typeof value === 'number') return value
    const one = Array.isArray(value) ? value[layer] : undefined
    return typeof one === 'number' ? one : undefined
  }
  const largest = (key: string) => {
    const value = of(key)
    return Array.isArray(value) ? Math.max(0, ...value.map(Number)) : (number(key) ?? 0)
  }
  const embeddingLength = number('embedding_length') ?? 0
  const headCount = largest('attention.head_count')
  const headLength = headCount === 0 ? 0 : embeddingLength / headCount
  const stateValues = recurrentValues(number)
  const layerCount = number('block_count') ?? 0
  if (layerCount > mostLayers)
    throw new Unreadable(`the header of the file says that the model has ${layerCount} layers (at most ${mostLayers})`)
  const trunk = layerCount - (number('nextn_predict_layers') ?? 0)
  // The others read the keys and values of these.
  const withKeys = readsOfItsModel.has(architecture) ? 0 : layerCount - (number('attention.shared_kv_layers') ?? 0)
  const layers = Array.from({ length: layerCount }, (_, index): Layer => {
    if (index >= withKeys) return { type: 'attention', keyValues: 0, valueValues: 0 }
    const kvHeads = perLayer('attention.head_count_kv', index) ?? perLayer('attention.head_count', index) ?? headCount
    const every = number('full_attention_interval')
    if (kvHeads === 0 || (every !== undefined && index < trunk && (index + 1) % every !== 0))
      return { type: 'recurrent', stateValues }
    const window = windowOf(index)
    const lengthOf = (key: string) => (window === undefined ? undefined : number(`${key}_swa`)) ?? number(key) ?? headLength
    return {
      type: 'attention',
      keyValues: kvHeads * lengthOf('attention.key_length'),
      valueValues: kvHeads * lengthOf('attention.value_length'),
      ...(window !== undefined && { window }),
    }
  })
  return {
    architecture,
    trainedContext: number('context_length'),
    vocabularySize: number('vocab_size') ?? vocabularyIn(metadata),
    embeddingLength,
    headCount,
    layers: layers.slice(0, trunk),
    headLayers: layers.slice(trunk),
  }

  /** The sliding window of a layer; undefined when it attends to all tokens, or may. */
  function windowOf(index: number): number | undefined {
    const window = number('attention.sliding_window') ?? 0
    if (window <= 0) return undefined
    const pattern = of('attention.sliding_window_pattern')
    if (Array.isArray(pattern)) return pattern[index] ? window : undefined
    const every = typeof pattern === 'number' ? pattern : (fullAttentionEvery[architecture] ?? 1)
    return every > 1 && (index + 1) % every !== 0 ? window : undefined
  }
}

/** As llama.cpp keeps the state of Mamba-like layers: their convolution, and the state itself. */
function recurrentValues(number: (key: string) => number | undefined): number {
  const [kernel = 0, inner = 0, state = 0, groups = 0] = ['conv_kernel', 'inner_size', 'state_size', 'group_count'].map((key) =>
    number(`ssm.${key}`),
  )
  return Math.max(0, kernel - 1) * (inner + 2 * groups * state) + state * inner
}

function vocabularyIn(metadata: Metadata): number {
  const tokens = metadata.get('tokenizer.ggml.tokens')
  return typeof tokens === 'object' ? tokens.length : 0
}
