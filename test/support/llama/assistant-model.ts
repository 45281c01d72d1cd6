import { createNormal } from '../normal.ts'
import { tableOf } from './add-heads.ts'
import { encodeGguf, type GgufTensor, type GgufValue } from './gguf-writer.ts'
import { vocabularyOfModel } from './random-architectures.ts'
import { randomVocabulary, type Vocabulary } from './random-vocabulary.ts'

export type AssistantOptions = {
  /** The length of the model's vectors, and of what its assistant reads of it. */
  readonly width?: number
  readonly readWidth?: number
  /** The length of a head of the assistant's attention to all tokens; the model has 32. */
  readonly headLength?: number
  readonly heads?: number
  /** Of the assistant's layers, which attend to a window only. */
  readonly windows?: readonly boolean[]
  readonly layersForNext?: number
  /** Further tokens of the assistant's vocabulary. */
  readonly moreTokens?: readonly string[]
}

const mergeCount = 100
const window = 64
const assistantWidth = 16
const feedForward = 64
const lengths = { window: 16, full: 32 }
const heads = 2
/** As many as have keys of their own: the others use those of the last two that have. */
const ownKeys = 2
/** Which layers of the model have a window. */
const pattern = [true, false, true, false]
/** How much the layers add to what the last token says of the next. More: fewer guesses are right. */
const [trunk, assistantTrunk, hiddenShare] = [0.02, 0.2, 0.1]

const uint32 = (value: number): GgufValue => ({ type: 'uint32', value })
const float32 = (value: number): GgufValue => ({ type: 'float32', value })

type Sizes = {
  readonly architecture: string
  readonly width: number
  readonly heads: number
  readonly windows: readonly boolean[]
  readonly full: number
  readonly vocabulary: Vocabulary
}

function metadataOf({ architecture, width, windows, heads, full, vocabulary }: Sizes, more: Readonly<Record<string, GgufValue>>) {
  const own = {
    vocab_size: uint32(vocabulary.tokens.length),
    context_length: uint32(4096),
    embedding_length: uint32(width),
    block_count: uint32(windows.length),
    feed_forward_length: uint32(feedForward),
    'attention.head_count': uint32(heads),
    'attention.head_count_kv': uint32(1),
    'attention.key_length': uint32(full),
    'attention.value_length': uint32(full),
    'attention.key_length_swa': uint32(lengths.window),
    'attention.value_length_swa': uint32(lengths.window),
    'attention.layer_norm_rms_epsilon': float32(1e-6),
    'attention.sliding_window': uint32(window),
    'attention.sliding_window_pattern': { type: 'bools', value: windows.map(Number) } as GgufValue,
    'rope.dimension_count': uint32(full),
    'rope.dimension_count_swa': uint32(lengths.window),
    'rope.freq_base': float32(1e6),
    'rope.freq_base_swa': float32(1e4),
    ...more,
  }
  return new Map<string, GgufValue>([
    ['general.architecture', { type: 'string', value: architecture }],
    ...Object.entries(own).map(([key, value]): [string, GgufValue] => [`${architecture}.${key}`, value]),
    ...vocabularyOfModel(vocabulary),
  ])
}

/**
 * The files of a small random model of Gemma 4's kind, and of an assistant that drafts for it. Both are mostly a table of which token follows
 * which, and so some of the guesses are right.
 */
export function encodeAssistantModels(options: AssistantOptions = {}): { readonly model: Buffer; readonly draft: Buffer } {
  const { width = 32, readWidth = width, headLength = lengths.full, windows = [true, false] } = options
  const random = createNormal(1)
  const filled = (name: string, shape: readonly number[], value: (index: number) => number): GgufTensor => ({
    name,
    shape,
    data: Float32Array.from({ length: shape.reduce((product, length) => product * length, 1) }, (_, index) => value(index)),
  })
  const noise = (name: string, ...shape: number[]) => filled(name, shape, () => random() * 0.3)
  const all = (name: string, length: number, value = 1) => filled(name, [length], () => value)
  const layer = (block: string, { width, full, heads }: Sizes, isWindow: boolean, added: number) => {
    const length = isWindow ? lengths.window : full
    return [
      ...['attn_norm', 'ffn_norm'].map((name) => all(`${block}.${name}.weight`, width)),
      ...['post_attention_norm', 'post_ffw_norm'].map((name) => all(`${block}.${name}.weight`, width, added)),
      noise(`${block}.attn_q.weight`, width, length * heads),
      all(`${block}.attn_q_norm.weight`, length),
      noise(`${block}.attn_output.weight`, length * heads, width),
      all(`${block}.layer_output_scale.weight`, 1, 0.9),
      noise(`${block}.ffn_gate.weight`, width, feedForward),
      noise(`${block}.ffn_up.weight`, width, feedForward),
      noise(`${block}.ffn_down.weight`, feedForward, width),
    ]
  }
  const frequencies = (length: number) => filled('rope_freqs.weight', [length / 2], (index) => (index < length / 8 ? 1 : 1e30))
  const vocabulary = randomVocabulary([], mergeCount)
  const size = vocabulary.tokens.length
  const embeddings = filled('token_embd.weight', [width, size], () => random() * 0.2)
  const output = tableOf(embeddings)
  const own: Sizes = { architecture: 'gemma4', width, heads, windows: pattern, full: lengths.full, vocabulary }
  const model = encodeGguf(
    metadataOf(own, {
      embedding_length_per_layer_input: uint32(0),
      'attention.shared_kv_layers': uint32(pattern.length - ownKeys),
      final_logit_softcapping: float32(30),
    }),
    [
      embeddings,
      output,
      all('output_norm.weight', width),
      frequencies(lengths.full),
      ...pattern.flatMap((isWindow, index) => [
        ...layer(`blk.${index}`, own, isWindow, trunk),
        ...(index < ownKeys ? keys(`blk.${index}`, isWindow ? lengths.window : lengths.full) : []),
      ]),
    ],
  )
  function keys(block: string, length: number) {
    // Without values of its own, as Gemma 4's layers without a window.
    const values = length === lengths.window ? [noise(`${block}.attn_v.weight`, width, length)] : []
    return [noise(`${block}.attn_k.weight`, width, length), all(`${block}.attn_k_norm.weight`, length), ...values]
  }
  const small: Sizes = {
    architecture: 'gemma4-assistant',
    width: assistantWidth,
    heads: options.heads ?? 2 * heads,
    windows,
    full: headLength,
    vocabulary: randomVocabulary(options.moreTokens, mergeCount),
  }
  const projection = noise('', width, assistantWidth).data
  const draft = encodeGguf(
    metadataOf(small, {
      embedding_length_out: uint32(readWidth),
      nextn_predict_layers: uint32(options.layersForNext ?? windows.length),
    }),
    [
      filled('token_embd.weight', [assistantWidth, small.vocabulary.tokens.length], (index) => {
        const [token, row] = [Math.floor(index / assistantWidth), index % assistantWidth]
        let sum = 0
        for (let at = 0; at < width; at++)
          sum += (output.data[token * width + at] ?? 0) * (projection[row * width + at] as number)
        return sum
      }),
      all('output_norm.weight', assistantWidth),
      filled('nextn.pre_projection.weight', [2 * readWidth, assistantWidth], (index) => {
        const [row, column] = [Math.floor(index / (2 * readWidth)), index % (2 * readWidth)]
        return column < readWidth ? (projection[row * width + column] ?? 0) : random() * hiddenShare
      }),
      noise('nextn.post_projection.weight', assistantWidth, readWidth),
      ...(windows.includes(false) ? [frequencies(headLength)] : []),
      ...windows.flatMap((isWindow, index) => layer(`blk.${index}`, small, isWindow, assistantTrunk)),
    ],
  )
  return { model, draft }
}
