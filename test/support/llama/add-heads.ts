import { createNormal } from '../normal.ts'
import type { Gguf } from './gguf-reader.ts'
import type { GgufTensor, GgufValue } from './gguf-writer.ts'

export type HeadOptions = {
  readonly heads?: number
  /** How much the layers add to what the last token says of the next. More: fewer guesses are right. */
  readonly trunk?: number
}

/** What a head adds to its guess: its layer, and what it reads of the model. */
const [layerShare, hiddenShare] = [0.1, 0.1]

/**
 * The model with layers that predict further tokens. The trunk becomes mostly a table of which token follows which, and so does the head,
 * which reads the next token and a little of the trunk: some of its guesses are right.
 */
export function addHeads({ metadata, tensors }: Gguf, { heads = 1, trunk = 0.5 }: HeadOptions = {}): Gguf {
  const architecture = String(metadata.get('general.architecture')?.value)
  const numberOf = (key: string) => Number(metadata.get(`${architecture}.${key}`)?.value)
  const [blocks, width] = [numberOf('block_count'), numberOf('embedding_length')]
  const random = createNormal(1)
  const all = new Map(tensors.map((tensor) => [tensor.name, tensor]))
  const scaled = ({ name, shape, data }: GgufTensor, by: number) => ({ name, shape, data: data.map((value) => value * by) })
  const put = (tensor: GgufTensor) => void all.set(tensor.name, tensor)
  const filled = (name: string, shape: readonly number[], value: (index: number) => number) =>
    put({
      name,
      shape,
      data: Float32Array.from({ length: shape.reduce((product, length) => product * length, 1) }, (_, index) => value(index)),
    })
  // What llama.cpp's own test of architectures does not save.
  for (let block = 0; block < blocks; block++) {
    const convolution = all.get(`blk.${block}.ssm_conv1d.weight`)
    const lacks = all.has(`blk.${block}.ssm_alpha.weight`) || all.has(`blk.${block}.ssm_ba.weight`)
    if (convolution === undefined || !lacks || all.has(`blk.${block}.attn_qkv.weight`)) continue
    filled(`blk.${block}.attn_qkv.weight`, [width, convolution.shape[1] as number], () => random() * 0.1)
    filled(`blk.${block}.attn_gate.weight`, [width, numberOf('ssm.inner_size')], () => random() * 0.1)
  }
  const last = lastAttention(all, blocks)
  const isOutput = (name: string) => /(?:attn_output|ffn_down|ffn_down_exps|ffn_down_shexp|ssm_out)\.weight$/.test(name)
  for (const tensor of [...all.values()])
    if (tensor.name.endsWith('norm.weight')) put({ ...tensor, data: tensor.data.map(() => 1) })
  for (const tensor of [...all.values()].filter(({ name }) => name.startsWith(`blk.${last}.`))) {
    for (let head = 0; head < heads; head++) {
      const name = tensor.name.replace(`blk.${last}.`, `blk.${blocks + head}.`)
      put({ ...scaled(tensor, isOutput(tensor.name) ? layerShare : 1), name })
    }
  }
  if (architecture === 'mimo2') for (let head = 0; head < heads; head++) fuseAttention(all, `blk.${blocks + head}`)
  for (const tensor of [...all.values()])
    if (isOutput(tensor.name) && Number(tensor.name.split('.')[1]) < blocks) put(scaled(tensor, trunk))
  put(tableOf(all.get('token_embd.weight') as GgufTensor))
  for (let block = blocks; block < blocks + heads; block++) {
    filled(`blk.${block}.nextn.eh_proj.weight`, [2 * width, width], (index) => {
      const [row, column] = [Math.floor(index / (2 * width)), index % (2 * width)]
      return column === row ? 1 : column === row + width ? hiddenShare : 0
    })
    for (const norm of ['enorm', 'hnorm', 'shared_head_norm']) filled(`blk.${block}.nextn.${norm}.weight`, [width], () => 1)
  }
  return { metadata: metadataWith(metadata, { architecture, blocks, heads }), tensors: [...all.values()] }
}

/** Its heads have queries, keys and values in one matrix. */
function fuseAttention(all: Map<string, GgufTensor>, block: string): void {
  const parts = ['attn_q', 'attn_k', 'attn_v'].map((name) => all.get(`${block}.${name}.weight`) as GgufTensor)
  const rows = parts.reduce((sum, { shape }) => sum + (shape[1] as number), 0)
  const data = Float32Array.from(parts.flatMap((part) => [...part.data]))
  for (const { name } of parts) all.delete(name)
  const name = `${block}.attn_qkv.weight`
  all.set(name, { name, shape: [parts[0]?.shape[0] as number, rows], data })
}

function lastAttention(all: ReadonlyMap<string, GgufTensor>, blocks: number): number {
  for (let block = blocks - 1; block >= 0; block--)
    if (['attn_q', 'attn_q_a'].some((name) => all.has(`blk.${block}.${name}.weight`))) return block
  throw new Error('no layer has attention')
}

/** Output weights that say which token follows each: a long cycle through the vocabulary. */
export function tableOf({ shape, data }: GgufTensor): GgufTensor {
  const [width, size] = shape as [number, number]
  // Control tokens come first.
  const order = Array.from({ length: size - 3 }, (_, index) => index + 3)
  for (let index = order.length - 1, state = 1; index > 0; index--) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    const other = state % (index + 1)
    ;[order[index], order[other]] = [order[other] as number, order[index] as number]
  }
  const output = new Float32Array(data.length)
  for (const [index, token] of order.entries()) {
    const next = order[(index + 1) % order.length] as number
    output.set(data.subarray(token * width, (token + 1) * width), next * width)
  }
  return { name: 'output.weight', shape, data: output }
}

type Added = { readonly architecture: string; readonly blocks: number; readonly heads: number }

function metadataWith(metadata: Gguf['metadata'], { architecture, blocks, heads }: Added): Map<string, GgufValue> {
  const changed = new Map<string, GgufValue>()
  for (const [key, value] of metadata) {
    if (key.startsWith('xielu')) continue
    // Its head turns positions as if they were one number, and llama.cpp aborts.
    if (architecture === 'glm4moe' && key.endsWith('rope.dimension_sections')) continue
    const isOfLayers = Array.isArray(value.value) && value.value.length === blocks && key.startsWith(architecture)
    if (isOfLayers && !key.endsWith('dimension_sections')) {
      const { value: before } = value as { readonly value: readonly number[] }
      const added = key.endsWith('recurrent_layers') ? 0 : (before.at(-1) as number)
      changed.set(key, { ...value, value: [...before, ...Array<number>(heads).fill(added)] } as GgufValue)
    } else changed.set(key, value)
  }
  changed.set(`${architecture}.block_count`, { type: 'uint32', value: blocks + heads })
  return changed.set(`${architecture}.nextn_predict_layers`, { type: 'uint32', value: heads })
}
