import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeSmallModel } from '../../../../test/support/llama/random-architectures.ts'
import { type LlamaModelConfig, modelSchema } from '../../../config/schema.ts'
import { readWeights } from '../../../registry/gguf/gguf-weights.ts'
import { expectedPlacement, gpuPart } from './placement.ts'

let folder: string
let path: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-placement-'))
  path = join(folder, 'mixture.gguf')
  await writeFile(path, encodeSmallModel('qwen3moe', { width: 256 }))
})
afterAll(() => rm(folder, { recursive: true }))

const sizes = { contextLength: 512, slots: 1, flashAttention: true }

type Given = {
  /** The free bytes of each GPU, where `all` of the model takes this many, and the experts of a layer those. */
  readonly free: (all: number, experts: number) => readonly number[]
  readonly shared?: boolean
  readonly settings?: object
}

test.each<[string, Given, RegExp | undefined]>([
  ['that has room', { free: (all) => [2 * all] }, /^all 2 layers on the GPU: about [\d.]+ MB of [\d.]+ MB free$/],
  [
    'that lacks room for the experts of a layer',
    { free: (all, experts) => [(all - experts / 2) / 0.9] },
    /^all 2 layers on the GPU without the experts of the first 1 layers: /,
  ],
  ['without room', { free: () => [1000] }, /^all layers in the memory of the machine: 1\.0 kB of the GPU are free$/],
  ['and another one', { free: (all) => [all, all] }, /^all 2 layers on 2 GPUs: /],
  [
    'and another one, of which it is the main one',
    { free: (all, experts) => [2 * all, (all - experts / 2) / 0.9], settings: { mainGpu: 1 } },
    /^all 2 layers on the GPU without the experts of the first 1 layers: /,
  ],
  [
    'and one that shares the memory of the machine',
    { free: (all) => [1000, 9 * all], shared: true },
    /^all layers in the memory of the machine: 1\.0 kB of the GPU are free$/,
  ],
  [
    'and one that shares the memory of the machine and is named',
    { free: (all) => [1000, 9 * all], shared: true, settings: { devices: ['GPU1'] } },
    /^all 2 layers on the GPU: /,
  ],
  ['where the settings say it', { free: () => [1000], settings: { experts: 'cpu' } }, undefined],
])('for a GPU %s, the place of a mixture is said before it is loaded', async (_, { free, shared, settings }, expected) => {
  const model = modelSchema.parse({ id: 'm', engine: 'llama', source: path, ...sizes, ...settings }) as LlamaModelConfig
  const all = (await gpuPart({ modelPath: path, ...sizes }))?.bytesOf(99) ?? 0
  const experts = (await readWeights(path))?.layers[0]?.expertBytes ?? 0
  const gpus = free(all, experts).map((freeBytes, index) => ({
    ...{ name: `GPU${index}`, freeBytes },
    ...(shared && index === 1 && { isShared: true as const }),
  }))
  const room = { budgetBytes: 1e12, shareBytes: 1e12 }
  const found = await expectedPlacement(model, { path, room, gpus })
  if (expected === undefined) expect(found).toBeUndefined()
  else expect(found).toMatch(expected)
})
