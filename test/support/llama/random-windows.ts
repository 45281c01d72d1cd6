import { createNormal } from '../normal.ts'
import { encodeGguf, type GgufTensor, type GgufValue } from './gguf-writer.ts'
import { embeddingLength, headCount, headLength, keyValueHeadCount, keyValueLength } from './random-gguf.ts'
import { randomVocabulary, vocabularyMetadata } from './random-vocabulary.ts'

/** Architectures of llama.cpp with sliding windows, and one without. */
export const windowedArchitectures = ['gemma2', 'gemma3', 'cohere2', 'gpt-oss'] as const
export type SmallArchitecture = (typeof windowedArchitectures)[number] | 'llama'

const feedForward = 64
const experts = 2

type Weights = {
  readonly matrix: (name: string, ...shape: number[]) => GgufTensor
  readonly ones: (name: string, length: number) => GgufTensor
  readonly bias: (name: string, ...shape: number[]) => GgufTensor
}

type Architecture = {
  /** As many as one repetition of the pattern of layers has, so that each kind is there. */
  readonly layers: number
  readonly metadata: Readonly<Record<string, GgufValue>>
  readonly tensors: (block: string, weights: Weights) => GgufTensor[]
}

const uint32 = (value: number): GgufValue => ({ type: 'uint32', value })
const float32 = (value: number): GgufValue => ({ type: 'float32', value })
const rmsNorm = { 'attention.layer_norm_rms_epsilon': float32(1e-5) }

const dense = (block: string, { matrix }: Weights): GgufTensor[] => [
  matrix(`${block}.ffn_gate.weight`, embeddingLength, feedForward),
  matrix(`${block}.ffn_up.weight`, embeddingLength, feedForward),
  matrix(`${block}.ffn_down.weight`, feedForward, embeddingLength),
]

const norms = (block: string, { ones }: Weights, ...names: string[]): GgufTensor[] =>
  names.map((name) => ones(`${block}.${name}.weight`, embeddingLength))

const postNorms = ['ffn_norm', 'post_attention_norm', 'post_ffw_norm']

const architectures: Readonly<Record<SmallArchitecture, Architecture>> = {
  llama: {
    layers: 2,
    metadata: rmsNorm,
    tensors: (block, weights) => [...norms(block, weights, 'ffn_norm'), ...dense(block, weights)],
  },
  gemma2: {
    layers: 2,
    metadata: { ...rmsNorm, attn_logit_softcapping: float32(50), final_logit_softcapping: float32(30) },
    tensors: (block, weights) => [...norms(block, weights, ...postNorms), ...dense(block, weights)],
  },
  gemma3: {
    layers: 6,
    metadata: rmsNorm,
    tensors: (block, weights) => [
      ...norms(block, weights, ...postNorms),
      weights.ones(`${block}.attn_q_norm.weight`, headLength),
      weights.ones(`${block}.attn_k_norm.weight`, headLength),
      ...dense(block, weights),
    ],
  },
  cohere2: {
    layers: 4,
    metadata: { 'attention.layer_norm_epsilon': float32(1e-5), logit_scale: float32(1) },
    tensors: dense,
  },
  'gpt-oss': {
    layers: 2,
    metadata: {
      ...rmsNorm,
      expert_count: uint32(experts),
      // All of them: a choice would depend on the order of sums.
      expert_used_count: uint32(experts),
      expert_feed_forward_length: uint32(feedForward),
    },
    tensors: (block, { matrix, ones, bias }) => [
      ones(`${block}.post_attention_norm.weight`, embeddingLength),
      bias(`${block}.attn_sinks.weight`, headCount),
      bias(`${block}.attn_output.bias`, embeddingLength),
      matrix(`${block}.ffn_gate_inp.weight`, embeddingLength, experts),
      bias(`${block}.ffn_gate_inp.bias`, experts),
      matrix(`${block}.ffn_gate_exps.weight`, embeddingLength, feedForward, experts),
      bias(`${block}.ffn_gate_exps.bias`, feedForward, experts),
      matrix(`${block}.ffn_up_exps.weight`, embeddingLength, feedForward, experts),
      bias(`${block}.ffn_up_exps.bias`, feedForward, experts),
      matrix(`${block}.ffn_down_exps.weight`, feedForward, embeddingLength, experts),
      bias(`${block}.ffn_down_exps.bias`, embeddingLength, experts),
    ],
  },
}

/** The file of a model with random weights whose sliding windows, if it has any, have `window` tokens. */
export function encodeWindowedModel(architecture: SmallArchitecture, window: number): Buffer {
  const { layers, metadata, tensors } = architectures[architecture]
  const vocabulary = randomVocabulary([])
  const random = createNormal(1)
  const filled = (name: string, shape: readonly number[], value: () => number): GgufTensor => ({
    name,
    shape,
    data: Float32Array.from({ length: shape.reduce((product, length) => product * length, 1) }, value),
  })
  const weights: Weights = {
    matrix: (name, ...shape) => filled(name, shape, () => random() * 0.3),
    ones: (name, length) => filled(name, [length], () => 1),
    bias: (name, ...shape) => filled(name, shape, () => random() * 0.1),
  }
  const { matrix, ones } = weights
  const blocks = Array.from({ length: layers }, (_, layer) => `blk.${layer}`).flatMap((block) => [
    ones(`${block}.attn_norm.weight`, embeddingLength),
    matrix(`${block}.attn_q.weight`, embeddingLength, embeddingLength),
    matrix(`${block}.attn_k.weight`, embeddingLength, keyValueLength),
    matrix(`${block}.attn_v.weight`, embeddingLength, keyValueLength),
    matrix(`${block}.attn_output.weight`, embeddingLength, embeddingLength),
    ...tensors(block, weights),
  ])
  const size = vocabulary.tokens.length
  const common = {
    vocab_size: uint32(size),
    context_length: uint32(4096),
    embedding_length: uint32(embeddingLength),
    block_count: uint32(layers),
    feed_forward_length: uint32(feedForward),
    'attention.head_count': uint32(headCount),
    'attention.head_count_kv': uint32(keyValueHeadCount),
    'attention.key_length': uint32(headLength),
    'attention.value_length': uint32(headLength),
    'rope.dimension_count': uint32(headLength),
    ...(architecture !== 'llama' && { 'attention.sliding_window': uint32(window) }),
    ...metadata,
  }
  return encodeGguf(
    new Map<string, GgufValue>([
      ['general.architecture', { type: 'string', value: architecture }],
      ...Object.entries(common).map(([key, value]): [string, GgufValue] => [`${architecture}.${key}`, value]),
      ...vocabularyMetadata(vocabulary),
    ]),
    [
      matrix('token_embd.weight', embeddingLength, size),
      ...blocks,
      ones('output_norm.weight', embeddingLength),
      // The others use the embeddings of tokens.
      ...(['llama', 'gpt-oss'].includes(architecture) ? [matrix('output.weight', embeddingLength, size)] : []),
    ],
  )
}
