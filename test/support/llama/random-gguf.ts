import { randomUUID } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createNormal } from '../normal.ts'
import { encodeGguf, type GgufTensor, type GgufValue } from './gguf-writer.ts'
import { randomVocabulary, type Vocabulary, vocabularyMetadata } from './random-vocabulary.ts'

/** What a random model can differ in; equal options give equal bytes on every machine. */
export type RandomModelOptions = {
  readonly seed?: number
  readonly contextLength?: number
  readonly chatTemplate?: string
  /** Control tokens behind the others, such as those for filling in the middle. */
  readonly moreControlTokens?: readonly string[]
  /** Put behind the other metadata. */
  readonly moreMetadata?: ReadonlyMap<string, GgufValue>
}

/** ChatML, as a model file would carry it. */
export const chatMl =
  "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"

const layerCount = 2
/** The sizes of all random models. */
export const embeddingLength = 64
export const headCount = 4
export const keyValueHeadCount = 2
export const headLength = embeddingLength / headCount
export const keyValueLength = keyValueHeadCount * headLength
const feedForwardLength = 128

/**
 * Writes a Llama model with random weights that llama.cpp loads and runs: for tests that need an engine, not sense.
 * What it says is mostly scraps of English words; an end-of-turn or another special token is possible but rare.
 */
export async function writeRandomModel(path: string, options: RandomModelOptions = {}): Promise<void> {
  const { seed = 1, contextLength = 4096, chatTemplate = chatMl, moreControlTokens = [], moreMetadata = new Map() } = options
  const vocabulary = randomVocabulary(moreControlTokens)
  const bytes = encodeGguf(
    new Map([...modelMetadata(vocabulary, contextLength, chatTemplate), ...moreMetadata]),
    modelTensors(vocabulary, seed),
  )
  await mkdir(dirname(path), { recursive: true })
  const temporaryPath = `${path}.${randomUUID()}.tmp`
  try {
    await writeFile(temporaryPath, bytes)
    await rename(temporaryPath, path)
  } catch (error) {
    await rm(temporaryPath, { force: true })
    throw error
  }
}

function modelMetadata(vocabulary: Vocabulary, contextLength: number, chatTemplate: string): Map<string, GgufValue> {
  const idOf = (token: string): GgufValue => ({ type: 'uint32', value: vocabulary.tokens.indexOf(token) })
  const uint32 = (value: number): GgufValue => ({ type: 'uint32', value })
  const text = (value: string): GgufValue => ({ type: 'string', value })
  return new Map<string, GgufValue>([
    ['general.architecture', text('llama')],
    ['general.type', text('model')],
    ['general.name', text('dragoman-random')],
    ['general.file_type', uint32(0)],
    ['llama.vocab_size', uint32(vocabulary.tokens.length)],
    ['llama.context_length', uint32(contextLength)],
    ['llama.embedding_length', uint32(embeddingLength)],
    ['llama.block_count', uint32(layerCount)],
    ['llama.feed_forward_length', uint32(feedForwardLength)],
    ['llama.attention.head_count', uint32(headCount)],
    ['llama.attention.head_count_kv', uint32(keyValueHeadCount)],
    ['llama.attention.layer_norm_rms_epsilon', { type: 'float32', value: 1e-5 }],
    ['llama.rope.dimension_count', uint32(headLength)],
    ['llama.rope.freq_base', { type: 'float32', value: 10_000 }],
    ...vocabularyMetadata(vocabulary),
    ['tokenizer.ggml.bos_token_id', idOf('<|im_start|>')],
    ['tokenizer.ggml.eos_token_id', idOf('<|im_end|>')],
    ['tokenizer.ggml.eot_token_id', idOf('<|im_end|>')],
    ['tokenizer.ggml.unknown_token_id', idOf('<|endoftext|>')],
    ['tokenizer.ggml.padding_token_id', idOf('<|endoftext|>')],
    ['tokenizer.ggml.add_bos_token', { type: 'bool', value: false }],
    ['tokenizer.ggml.add_eos_token', { type: 'bool', value: false }],
    ['tokenizer.chat_template', text(chatTemplate)],
  ])
}

/**
 * The scales are chosen by trying. Attention and feed-forward outweigh the token's own embedding, so that what comes next depends
 * on all that came before and greedy decoding does not fall into a short loop; logits spread enough to be far from uniform.
 */
function modelTensors(vocabulary: Vocabulary, seed: number): GgufTensor[] {
  const random = createNormal(seed)
  const matrix = (name: string, columns: number, rows: number, scale: number): GgufTensor => ({
    name: `${name}.weight`,
    shape: [columns, rows],
    data: Float32Array.from({ length: columns * rows }, () => random() * scale),
  })
  const norm = (name: string): GgufTensor => ({
    name: `${name}.weight`,
    shape: [embeddingLength],
    data: new Float32Array(embeddingLength).fill(1),
  })
  const size = vocabulary.tokens.length
  const tensors = [matrix('token_embd', embeddingLength, size, 0.5)]
  for (let layer = 0; layer < layerCount; layer++) {
    const block = `blk.${layer}`
    tensors.push(
      norm(`${block}.attn_norm`),
      matrix(`${block}.attn_q`, embeddingLength, embeddingLength, 0.25),
      matrix(`${block}.attn_k`, embeddingLength, keyValueLength, 0.25),
      matrix(`${block}.attn_v`, embeddingLength, keyValueLength, 0.25),
      matrix(`${block}.attn_output`, embeddingLength, embeddingLength, 0.5),
      norm(`${block}.ffn_norm`),
      matrix(`${block}.ffn_gate`, embeddingLength, feedForwardLength, 0.25),
      matrix(`${block}.ffn_up`, embeddingLength, feedForwardLength, 0.25),
      matrix(`${block}.ffn_down`, feedForwardLength, embeddingLength, 0.125),
    )
  }
  const output = matrix('output', embeddingLength, size, 0.35)
  weakenOddTokens(output, vocabulary)
  return [...tensors, norm('output_norm'), output]
}

/** A token with small output weights has a logit near 0, the median, and so is seldom chosen: specials, and odd bytes less so. */
export function weakenOddTokens({ shape: [length = 0], data }: GgufTensor, { tokens, types }: Vocabulary): void {
  for (const [id, token] of tokens.entries()) {
    const scale = types[id] !== 1 ? 0.1 : /[^\x20-\x7eĠ]/.test(token) ? 0.5 : 1
    data.subarray(id * length, (id + 1) * length).forEach((weight, index, row) => {
      row[index] = weight * scale
    })
  }
}
