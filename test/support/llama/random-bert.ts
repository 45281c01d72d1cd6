import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { encodeGguf, type GgufTensor, type GgufValue } from './gguf-writer.ts'

/** llama.cpp's numbers for kinds of pooling. */
export const poolingTypes = { none: 0, mean: 1, cls: 2, last: 3, rank: 4 } as const

const contextLength = 64
const embeddingLength = 32
const headCount = 2
const feedForwardLength = 64
const controlTokens = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']
const letters = [...'abcdefghijklmnopqrstuvwxyz.,!?']
const tokens = [...controlTokens, ...letters.map((letter) => `\u2581${letter}`), ...letters]

/** Writes a BERT model of one layer with random weights: an encoder, whose tokens see the whole text. */
export async function writeRandomBert(path: string, pooling: keyof typeof poolingTypes): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, encodeGguf(metadata(pooling), tensors(pooling)))
}

function metadata(pooling: keyof typeof poolingTypes): Map<string, GgufValue> {
  const uint32 = (value: number): GgufValue => ({ type: 'uint32', value })
  const text = (value: string): GgufValue => ({ type: 'string', value })
  const idOf = (token: string): GgufValue => uint32(tokens.indexOf(token))
  return new Map<string, GgufValue>([
    ['general.architecture', text('bert')],
    ['general.type', text('model')],
    ['general.name', text('dragoman-random-bert')],
    ['bert.context_length', uint32(contextLength)],
    ['bert.embedding_length', uint32(embeddingLength)],
    ['bert.block_count', uint32(1)],
    ['bert.feed_forward_length', uint32(feedForwardLength)],
    ['bert.attention.head_count', uint32(headCount)],
    ['bert.attention.layer_norm_epsilon', { type: 'float32', value: 1e-12 }],
    ['bert.attention.causal', { type: 'bool', value: false }],
    ['bert.pooling_type', uint32(poolingTypes[pooling])],
    ['tokenizer.ggml.model', text('bert')],
    ['tokenizer.ggml.pre', text('default')],
    ['tokenizer.ggml.token_type_count', uint32(2)],
    ['tokenizer.ggml.tokens', { type: 'strings', value: tokens }],
    ['tokenizer.ggml.token_type', { type: 'int32s', value: tokens.map((_, id) => (id < controlTokens.length ? 3 : 1)) }],
    ['tokenizer.ggml.padding_token_id', idOf('[PAD]')],
    ['tokenizer.ggml.unknown_token_id', idOf('[UNK]')],
    ['tokenizer.ggml.cls_token_id', idOf('[CLS]')],
    ['tokenizer.ggml.bos_token_id', idOf('[CLS]')],
    ['tokenizer.ggml.seperator_token_id', idOf('[SEP]')],
    ['tokenizer.ggml.eos_token_id', idOf('[SEP]')],
    ['tokenizer.ggml.mask_token_id', idOf('[MASK]')],
  ])
}

function tensors(pooling: keyof typeof poolingTypes): GgufTensor[] {
  let state = 1
  const random = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return state / 0x40000000 - 1
  }
  const fill = (name: string, shape: readonly number[], scale: number): GgufTensor => ({
    name,
    shape,
    data: Float32Array.from({ length: shape.reduce((product, size) => product * size, 1) }, () => random() * scale),
  })
  const layer = (name: string, columns: number, rows: number) => [
    fill(`${name}.weight`, [columns, rows], 0.5),
    fill(`${name}.bias`, [rows], 0.1),
  ]
  const norm = (name: string): GgufTensor[] => [
    { name: `${name}.weight`, shape: [embeddingLength], data: new Float32Array(embeddingLength).fill(1) },
    { name: `${name}.bias`, shape: [embeddingLength], data: new Float32Array(embeddingLength) },
  ]
  return [
    fill('token_embd.weight', [embeddingLength, tokens.length], 1),
    fill('token_types.weight', [embeddingLength, 2], 0.1),
    fill('position_embd.weight', [embeddingLength, contextLength], 0.3),
    ...norm('token_embd_norm'),
    ...layer('blk.0.attn_q', embeddingLength, embeddingLength),
    ...layer('blk.0.attn_k', embeddingLength, embeddingLength),
    ...layer('blk.0.attn_v', embeddingLength, embeddingLength),
    ...layer('blk.0.attn_output', embeddingLength, embeddingLength),
    ...norm('blk.0.attn_output_norm'),
    ...layer('blk.0.ffn_up', embeddingLength, feedForwardLength),
    ...layer('blk.0.ffn_down', feedForwardLength, embeddingLength),
    ...norm('blk.0.layer_output_norm'),
    ...(pooling === 'rank'
      ? [...layer('cls', embeddingLength, embeddingLength), ...layer('cls.output', embeddingLength, 1)]
      : []),
  ]
}
