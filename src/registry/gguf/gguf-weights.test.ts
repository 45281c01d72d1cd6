import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { encodeSmallModel } from '../../../test/support/llama/random-architectures.ts'
import { builtinModel } from '../names/builtin-model.ts'
import { readWeights } from './gguf-weights.ts'
import { weightsOf } from './memory-need.ts'

test('the weights of layers, their experts and the output are counted apart', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-weights-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, 'm.gguf')
  await writeFile(path, encodeSmallModel('qwen3moe', { width: 32 }))
  const { layers = [], outputBytes = 0 } = (await readWeights(path)) ?? {}
  // Four experts of three matrices with 16 x 32 values of 4 bytes.
  expect(layers.map(({ expertBytes }) => expertBytes)).toEqual(layers.map(() => 4 * 3 * 16 * 32 * 4))
  expect(layers.every(({ bytes, expertBytes }) => bytes > expertBytes)).toBe(true)
  const file = await weightsOf(path)
  const all = layers.reduce((sum, { bytes }) => sum + bytes, outputBytes)
  expect(all).toBeLessThanOrEqual(file)
})

test('a model without experts has none', async () => {
  const { layers = [] } = (await readWeights(builtinModel.path)) ?? {}
  expect(layers.length).toBeGreaterThan(0)
  expect(layers.every(({ bytes, expertBytes }) => bytes > 0 && expertBytes === 0)).toBe(true)
})
