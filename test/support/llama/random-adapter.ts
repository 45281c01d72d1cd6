import { writeFile } from 'node:fs/promises'
import { createNormal } from '../normal.ts'
import { encodeGguf, type GgufValue } from './gguf-writer.ts'

const rank = 4

/**
 * Writes a LoRA adapter for the random model, whose size it has unless given, strong enough to change what it says. `base`: the name
 * of that model in its file.
 */
export async function writeRandomAdapter(path: string, seed: number, { embeddingLength = 64, base = '' } = {}): Promise<void> {
  const random = createNormal(seed)
  const matrix = (name: string, columns: number, rows: number) => ({
    name,
    shape: [columns, rows],
    data: Float32Array.from({ length: columns * rows }, () => random()),
  })
  const metadata = new Map<string, GgufValue>([
    ['general.type', { type: 'string', value: 'adapter' }],
    ['general.architecture', { type: 'string', value: 'llama' }],
    ['adapter.type', { type: 'string', value: 'lora' }],
    ['adapter.lora.alpha', { type: 'float32', value: rank }],
    ['general.base_model.0.repo_url', { type: 'string', value: base && `https://example.com/owner/${base}` }],
  ])
  const tensors = ['blk.0.attn_output.weight', 'blk.1.attn_q.weight'].flatMap((name) => [
    matrix(`${name}.lora_a`, embeddingLength, rank),
    matrix(`${name}.lora_b`, rank, embeddingLength),
  ])
  await writeFile(path, encodeGguf(metadata, tensors))
}
