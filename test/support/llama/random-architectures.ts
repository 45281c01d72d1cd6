import { createNormal } from '../normal.ts'
import { encodeGguf, type GgufTensor, type GgufValue } from './gguf-writer.ts'
import { chatMl, weakenOddTokens } from './random-gguf.ts'
import { randomVocabulary, type Vocabulary, vocabularyMetadata } from './random-vocabulary.ts'

/** Architectures of llama.cpp with sliding windows. */
export const windowedArchitectures = ['gemma2', 'gemma3', 'cohere2', 'gpt-oss'] as const
export type SmallArchitecture =
  | (typeof windowedArchitectures)[number]
  /** Plain attention; a mixture of experts; latent attention; a state instead of attention; states and attention. */
  | 'llama'
  | 'qwen3moe'
  | 'deepseek2'
  | 'mamba'
  | 'lfm2'
  /** As lfm2, but its states can be taken back by some tokens. */
  | 'qwen35'
  /** Windows, and several heads. */
  | 'mimo2'
  /** Windows, several heads, experts in the last layer, and a gate for each head of attention. */
  | 'step35'
  /** Several heads and experts. */
  | 'hy_v3'
  /** Positions of several numbers. */
  | 'qwen2vl'

export type SmallModelOptions = {
  /** Tokens of the sliding windows, if it has any. */
  readonly window?: number
  /** The length of embeddings. A model of two layers and 32 has less than 200 kB. */
  readonly width: number
}

/** Enough for words; more would make the files larger. */
const mergeCount = 100
const headLength = 16
const feedForward = 64
const experts = 4
const expertFeedForward = 16
/** Of latent attention: the ranks, and the parts of a head with and without positions. */
const rank = 16
const innerSize = 64
const stateSize = 16
const kernel = 4
const timeRank = 2

type Writer = {
  readonly width: number
  readonly matrix: (name: string, ...shape: number[]) => GgufTensor
  readonly ones: (name: string, length: number) => GgufTensor
  readonly bias: (name: string, ...shape: number[]) => GgufTensor
  /** The decay of a state with each token. */
  readonly decay: (name: string, ...shape: number[]) => GgufTensor
}

type Architecture = {
  /** As many as one repetition of the pattern of layers has, so that each kind is there. */
  readonly layers: number
  readonly metadata: Readonly<Record<string, GgufValue>>
  readonly tensors: (block: string, writer: Writer, layer: number) => GgufTensor[]
  /** It has no output weights, but uses the embeddings of tokens. */
  readonly isTied?: boolean
  readonly outputNorm?: string
}

const uint32 = (value: number): GgufValue => ({ type: 'uint32', value })
const float32 = (value: number): GgufValue => ({ type: 'float32', value })
const text = (value: string): GgufValue => ({ type: 'string', value })
const rmsNorm = { 'attention.layer_norm_rms_epsilon': float32(1e-5) }
const mixture = (used: number) => ({
  expert_count: uint32(experts),
  expert_used_count: uint32(used),
  expert_feed_forward_length: uint32(expertFeedForward),
})

const norms = (block: string, { ones, width }: Writer, ...names: string[]): GgufTensor[] =>
  names.map((name) => ones(`${block}.${name}.weight`, width))

const attention = (block: string, { matrix, width }: Writer): GgufTensor[] => [
  matrix(`${block}.attn_q.weight`, width, width),
  matrix(`${block}.attn_k.weight`, width, width / 2),
  matrix(`${block}.attn_v.weight`, width, width / 2),
  matrix(`${block}.attn_output.weight`, width, width),
]

const headNorms = (block: string, { ones }: Writer): GgufTensor[] => [
  ones(`${block}.attn_q_norm.weight`, headLength),
  ones(`${block}.attn_k_norm.weight`, headLength),
]

const dense = (block: string, { matrix, width }: Writer): GgufTensor[] => [
  matrix(`${block}.ffn_gate.weight`, width, feedForward),
  matrix(`${block}.ffn_up.weight`, width, feedForward),
  matrix(`${block}.ffn_down.weight`, feedForward, width),
]

const expertsOf = (block: string, { matrix, width }: Writer): GgufTensor[] => [
  matrix(`${block}.ffn_gate_inp.weight`, width, experts),
  matrix(`${block}.ffn_gate_exps.weight`, width, expertFeedForward, experts),
  matrix(`${block}.ffn_up_exps.weight`, width, expertFeedForward, experts),
  matrix(`${block}.ffn_down_exps.weight`, expertFeedForward, width, experts),
]

const sharedExpert = (block: string, { matrix, width }: Writer): GgufTensor[] => [
  matrix(`${block}.ffn_gate_shexp.weight`, width, expertFeedForward),
  matrix(`${block}.ffn_up_shexp.weight`, width, expertFeedForward),
  matrix(`${block}.ffn_down_shexp.weight`, expertFeedForward, width),
]

const postNorms = ['attn_norm', 'ffn_norm', 'post_attention_norm', 'post_ffw_norm']

const architectures: Readonly<Record<SmallArchitecture, Architecture>> = {
  llama: {
    layers: 2,
    metadata: rmsNorm,
    tensors: (block, writer) => [
      ...norms(block, writer, 'attn_norm', 'ffn_norm'),
      ...attention(block, writer),
      ...dense(block, writer),
    ],
  },
  qwen2vl: {
    layers: 2,
    metadata: { ...rmsNorm, 'rope.dimension_sections': { type: 'int32s', value: [2, 3, 3, 0] } },
    tensors: (block, writer) => [
      ...norms(block, writer, 'attn_norm', 'ffn_norm'),
      ...attention(block, writer),
      ...dense(block, writer),
    ],
  },
  gemma2: {
    isTied: true,
    layers: 2,
    metadata: { ...rmsNorm, attn_logit_softcapping: float32(50), final_logit_softcapping: float32(30) },
    tensors: (block, writer) => [...norms(block, writer, ...postNorms), ...attention(block, writer), ...dense(block, writer)],
  },
  gemma3: {
    isTied: true,
    layers: 6,
    metadata: rmsNorm,
    tensors: (block, writer) => [
      ...norms(block, writer, ...postNorms),
      ...headNorms(block, writer),
      ...attention(block, writer),
      ...dense(block, writer),
    ],
  },
  cohere2: {
    isTied: true,
    layers: 4,
    metadata: { 'attention.layer_norm_epsilon': float32(1e-5), logit_scale: float32(1) },
    tensors: (block, writer) => [...norms(block, writer, 'attn_norm'), ...attention(block, writer), ...dense(block, writer)],
  },
  'gpt-oss': {
    layers: 2,
    // All experts: a choice would depend on the order of sums.
    metadata: { ...rmsNorm, ...mixture(experts) },
    tensors: (block, writer) => [
      ...norms(block, writer, 'attn_norm', 'post_attention_norm'),
      ...attention(block, writer),
      writer.bias(`${block}.attn_sinks.weight`, writer.width / headLength),
      writer.bias(`${block}.attn_output.bias`, writer.width),
      ...expertsOf(block, writer),
      writer.bias(`${block}.ffn_gate_inp.bias`, experts),
      writer.bias(`${block}.ffn_gate_exps.bias`, expertFeedForward, experts),
      writer.bias(`${block}.ffn_up_exps.bias`, expertFeedForward, experts),
      writer.bias(`${block}.ffn_down_exps.bias`, writer.width, experts),
    ],
  },
  qwen3moe: {
    layers: 2,
    metadata: { ...rmsNorm, ...mixture(2) },
    tensors: (block, writer) => [
      ...norms(block, writer, 'attn_norm', 'ffn_norm'),
      ...headNorms(block, writer),
      ...attention(block, writer),
      ...expertsOf(block, writer),
    ],
  },
  deepseek2: {
    layers: 2,
    metadata: {
      ...rmsNorm,
      ...mixture(2),
      leading_dense_block_count: uint32(1),
      expert_shared_count: uint32(1),
      'attention.head_count_kv': uint32(1),
      'attention.q_lora_rank': uint32(rank),
      'attention.kv_lora_rank': uint32(rank),
      'attention.key_length': uint32(2 * rank),
      'attention.value_length': uint32(rank),
      'attention.key_length_mla': uint32(2 * rank),
      'attention.value_length_mla': uint32(rank),
    },
    tensors: (block, writer, layer) => {
      const { matrix, ones, width } = writer
      const heads = width / headLength
      return [
        ...norms(block, writer, 'attn_norm', 'ffn_norm'),
        ones(`${block}.attn_q_a_norm.weight`, rank),
        ones(`${block}.attn_kv_a_norm.weight`, rank),
        matrix(`${block}.attn_q_a.weight`, width, rank),
        matrix(`${block}.attn_q_b.weight`, rank, heads * 2 * rank),
        matrix(`${block}.attn_kv_a_mqa.weight`, width, 2 * rank),
        matrix(`${block}.attn_k_b.weight`, rank, rank, heads),
        matrix(`${block}.attn_v_b.weight`, rank, rank, heads),
        matrix(`${block}.attn_output.weight`, heads * rank, width),
        ...(layer === 0 ? dense(block, writer) : [...expertsOf(block, writer), ...sharedExpert(block, writer)]),
      ]
    },
  },
  mamba: {
    layers: 2,
    metadata: {
      ...rmsNorm,
      'ssm.conv_kernel': uint32(kernel),
      'ssm.inner_size': uint32(innerSize),
      'ssm.state_size': uint32(stateSize),
      'ssm.time_step_rank': uint32(timeRank),
    },
    tensors: (block, writer) => [
      ...norms(block, writer, 'attn_norm'),
      writer.matrix(`${block}.ssm_in.weight`, writer.width, 2 * innerSize),
      writer.matrix(`${block}.ssm_conv1d.weight`, kernel, innerSize),
      writer.bias(`${block}.ssm_conv1d.bias`, innerSize),
      writer.matrix(`${block}.ssm_x.weight`, innerSize, timeRank + 2 * stateSize),
      writer.matrix(`${block}.ssm_dt.weight`, timeRank, innerSize),
      writer.bias(`${block}.ssm_dt.bias`, innerSize),
      writer.decay(`${block}.ssm_a`, stateSize, innerSize),
      writer.ones(`${block}.ssm_d`, innerSize),
      writer.matrix(`${block}.ssm_out.weight`, innerSize, writer.width),
    ],
  },
  lfm2: {
    layers: 2,
    // The first layer has a state, the second attention.
    metadata: {
      ...rmsNorm,
      'attention.head_count_kv': { type: 'int32s', value: [0, 1] },
      'shortconv.l_cache': uint32(kernel - 1),
    },
    tensors: (block, writer, layer) => [
      ...norms(block, writer, 'attn_norm', 'ffn_norm'),
      ...(layer === 0
        ? [
            writer.matrix(`${block}.shortconv.conv.weight`, kernel - 1, writer.width),
            writer.matrix(`${block}.shortconv.in_proj.weight`, writer.width, 3 * writer.width),
            writer.matrix(`${block}.shortconv.out_proj.weight`, writer.width, writer.width),
          ]
        : [...headNorms(block, writer), ...attention(block, writer)]),
      ...dense(block, writer),
    ],
    outputNorm: 'token_embd_norm',
  },
  mimo2: {
    layers: 2,
    metadata: {
      ...rmsNorm,
      expert_feed_forward_length: uint32(expertFeedForward),
      'attention.sliding_window_pattern': { type: 'int32s', value: [0, 1] },
    },
    tensors: (block, writer) => [
      ...norms(block, writer, 'attn_norm', 'ffn_norm'),
      ...attention(block, writer),
      ...dense(block, writer),
    ],
  },
  step35: {
    layers: 2,
    metadata: {
      ...rmsNorm,
      ...mixture(2),
      leading_dense_block_count: uint32(1),
      expert_shared_feed_forward_length: uint32(expertFeedForward),
      'attention.sliding_window_pattern': { type: 'int32s', value: [0, 1] },
    },
    tensors: (block, writer, layer) => [
      ...norms(block, writer, 'attn_norm', 'ffn_norm'),
      ...headNorms(block, writer),
      ...attention(block, writer),
      writer.matrix(`${block}.attn_gate.weight`, writer.width, writer.width / headLength),
      ...(layer === 0 ? dense(block, writer) : [...expertsOf(block, writer), ...sharedExpert(block, writer)]),
    ],
  },
  hy_v3: {
    layers: 2,
    metadata: { ...rmsNorm, ...mixture(2), leading_dense_block_count: uint32(1) },
    tensors: (block, writer, layer) => [
      ...norms(block, writer, 'attn_norm', 'ffn_norm'),
      ...headNorms(block, writer),
      ...attention(block, writer),
      ...(layer === 0 ? dense(block, writer) : [...expertsOf(block, writer), ...sharedExpert(block, writer)]),
    ],
  },
  qwen35: {
    layers: 2,
    // The first layer has a state, the second attention.
    metadata: {
      ...rmsNorm,
      full_attention_interval: uint32(2),
      'rope.dimension_sections': { type: 'int32s', value: [2, 3, 3, 0] },
      'ssm.conv_kernel': uint32(kernel),
      'ssm.inner_size': uint32(2 * stateSize),
      'ssm.state_size': uint32(stateSize),
      'ssm.time_step_rank': uint32(2),
      'ssm.group_count': uint32(2),
    },
    tensors: (block, writer, layer) => [
      ...norms(block, writer, 'attn_norm', 'post_attention_norm'),
      ...(layer === 0 ? deltaNet(block, writer) : gatedAttention(block, writer)),
      ...dense(block, writer),
    ],
  },
}

/** As many heads of keys as of values. */
function deltaNet(block: string, { matrix, ones, bias, decay, width }: Writer): GgufTensor[] {
  return [
    matrix(`${block}.attn_qkv.weight`, width, 6 * stateSize),
    matrix(`${block}.attn_gate.weight`, width, 2 * stateSize),
    matrix(`${block}.ssm_conv1d.weight`, kernel, 6 * stateSize),
    bias(`${block}.ssm_dt.bias`, 2),
    decay(`${block}.ssm_a`, 2),
    matrix(`${block}.ssm_alpha.weight`, width, 2),
    matrix(`${block}.ssm_beta.weight`, width, 2),
    ones(`${block}.ssm_norm.weight`, stateSize),
    matrix(`${block}.ssm_out.weight`, 2 * stateSize, width),
  ]
}

/** Queries come with a gate. */
function gatedAttention(block: string, writer: Writer): GgufTensor[] {
  const { matrix, width } = writer
  const [, ...others] = attention(block, writer)
  return [matrix(`${block}.attn_q.weight`, width, 2 * width), ...others, ...headNorms(block, writer)]
}

/** The file of a model with random weights that speaks ChatML; equal options give equal bytes. */
export function encodeSmallModel(architecture: SmallArchitecture, { window, width }: SmallModelOptions): Buffer {
  const { layers, metadata, tensors, isTied = false, outputNorm = 'output_norm' } = architectures[architecture]
  const vocabulary = randomVocabulary([], mergeCount)
  const random = createNormal(1)
  const filled = (name: string, shape: readonly number[], value: () => number): GgufTensor => ({
    name,
    shape,
    data: Float32Array.from({ length: shape.reduce((product, length) => product * length, 1) }, value),
  })
  const writer: Writer = {
    width,
    matrix: (name, ...shape) => filled(name, shape, () => random() * 0.3),
    ones: (name, length) => filled(name, [length], () => 1),
    bias: (name, ...shape) => filled(name, shape, () => random() * 0.1),
    decay: (name, ...shape) => filled(name, shape, () => -Math.abs(random()) - 0.1),
  }
  const size = vocabulary.tokens.length
  // Less than what layers add: what comes next depends on all that came before.
  const embeddings = filled('token_embd.weight', [width, size], () => random() * 0.1)
  const output = isTied ? embeddings : writer.matrix('output.weight', width, size)
  weakenOddTokens(output, vocabulary)
  const sizes = {
    vocab_size: uint32(size),
    context_length: uint32(4096),
    embedding_length: uint32(width),
    block_count: uint32(layers),
    feed_forward_length: uint32(feedForward),
    'attention.head_count': uint32(width / headLength),
    'attention.head_count_kv': uint32(width / headLength / 2),
    'attention.key_length': uint32(headLength),
    'attention.value_length': uint32(headLength),
    'rope.dimension_count': uint32(headLength),
    ...(window !== undefined && { 'attention.sliding_window': uint32(window) }),
    ...metadata,
  }
  return encodeGguf(
    new Map<string, GgufValue>([
      ['general.architecture', text(architecture)],
      ...Object.entries(sizes).map(([key, value]): [string, GgufValue] => [`${architecture}.${key}`, value]),
      ...vocabularyOfModel(vocabulary),
    ]),
    [
      embeddings,
      ...Array.from({ length: layers }, (_, layer) => tensors(`blk.${layer}`, writer, layer)).flat(),
      writer.ones(`${outputNorm}.weight`, width),
      ...(isTied ? [] : [output]),
    ],
  )
}

/** What the file says of the vocabulary and of conversations. */
export function vocabularyOfModel(vocabulary: Vocabulary): [string, GgufValue][] {
  const idOf = (token: string) => uint32(vocabulary.tokens.indexOf(token))
  return [
    ...vocabularyMetadata(vocabulary),
    ['tokenizer.ggml.bos_token_id', idOf('<|im_start|>')],
    ['tokenizer.ggml.eos_token_id', idOf('<|im_end|>')],
    ['tokenizer.ggml.add_bos_token', { type: 'bool', value: false }],
    ['tokenizer.chat_template', text(chatMl)],
  ]
}
