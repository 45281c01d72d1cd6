import { createNormal } from '../normal.ts'
import { addHeads } from './add-heads.ts'
import { type Gguf, readGguf } from './gguf-reader.ts'
import { encodeGguf, type GgufTensor, type GgufValue } from './gguf-writer.ts'
import { encodeSmallModel } from './random-architectures.ts'

/** Numbers that matter little. */
const noise = 0.02
/** How much a position attends to itself above all. */
const attendsToItself = 1.2
const trunk = 0.02
const fusedShare = 0.1

/**
 * The files of a small random model and of an EAGLE-3 head that drafts for it. `layers`: whose inputs the head reads. Some of its guesses are
 * right: its one layer passes the last token on to the same table of what follows as the model has.
 */
export function encodeEagleModels(layers: readonly number[] = [0, 1, 1]): { readonly model: Buffer; readonly draft: Buffer } {
  const target = addHeads(readGguf(encodeSmallModel('llama', { width: 32 })), { heads: 0, trunk })
  return { model: encodeGguf(target.metadata, target.tensors), draft: encodeGguf(metadataOf(target, layers), tensorsOf(target)) }
}

function metadataOf({ metadata }: Gguf, layers: readonly number[]): Map<string, GgufValue> {
  const width = metadata.get('llama.embedding_length') as GgufValue
  const heads = metadata.get('llama.attention.head_count') as GgufValue
  const own = [...metadata].map(([key, value]): [string, GgufValue] => [key.replace(/^llama\./, 'eagle3.'), value])
  return new Map<string, GgufValue>([
    ...own,
    ['general.architecture', { type: 'string', value: 'eagle3' }],
    ['eagle3.block_count', { type: 'uint32', value: 1 }],
    // All of the token's embedding reaches the output.
    ['eagle3.attention.head_count_kv', heads],
    ['eagle3.target_layers', { type: 'int32s', value: layers }],
    ['eagle3.target_hidden_size', width],
  ])
}

function tensorsOf({ metadata, tensors }: Gguf): GgufTensor[] {
  const [width, feedForward] = ['embedding_length', 'feed_forward_length'].map((key) =>
    Number(metadata.get(`llama.${key}`)?.value),
  ) as [number, number]
  const random = createNormal(1)
  const matrix = (
    name: string,
    [columns, rows]: readonly [number, number],
    diagonal?: (row: number, column: number) => number | undefined,
  ) => ({
    name,
    shape: [columns, rows],
    data: Float32Array.from({ length: columns * rows }, (_, index) => {
      const small = random() * noise
      return diagonal?.(Math.floor(index / columns), index % columns) ?? small
    }),
  })
  const ones = (name: string) => ({ name, shape: [width], data: new Float32Array(width).fill(1) })
  const identity = (by: number) => (row: number, column: number) => (column < width ? (row === column ? by : 0) : undefined)
  return [
    ...tensors.filter(({ name }) => name === 'token_embd.weight' || name === 'output.weight'),
    matrix('fc.weight', [3 * width, width], (row, column) => (column === row + width ? fusedShare : 0)),
    ...['output_norm', 'blk.0.attn_norm', 'blk.0.attn_norm_2', 'blk.0.ffn_norm'].map((name) => ones(`${name}.weight`)),
    matrix('blk.0.attn_q.weight', [2 * width, width], identity(attendsToItself)),
    matrix('blk.0.attn_k.weight', [2 * width, width], identity(attendsToItself)),
    matrix('blk.0.attn_v.weight', [2 * width, width], identity(1)),
    matrix('blk.0.attn_output.weight', [width, width], identity(1)),
    matrix('blk.0.ffn_gate.weight', [width, feedForward]),
    matrix('blk.0.ffn_up.weight', [width, feedForward]),
    matrix('blk.0.ffn_down.weight', [feedForward, width]),
  ]
}
