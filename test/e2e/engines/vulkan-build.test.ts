import { existsSync, readdirSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { LoadOptions } from '../../../src/engine/llama/channel/ipc.ts'
import { LlamaEngine } from '../../../src/engine/llama/engine.ts'
import { findBackend } from '../../../src/engine/llama/find-backend.ts'
import { readWeights } from '../../../src/registry/gguf/gguf-weights.ts'
import { builtinModel } from '../../../src/registry/names/builtin-model.ts'
import { chatRequest, completeChoices } from '../../engine-contract.ts'
import { encodeSmallModel } from '../../support/llama/random-architectures.ts'
import { isFullLength, nightlyHint } from '../../support/process/soak-length.ts'
import { installedFrom } from '../../support/process/test-tools.ts'

/** The build that `npm run gpu -- vulkan` installs, on the GPU or on Mesa's driver for machines without one, which takes part only when it is named. */
const enginePath = installedFrom('vulkan-build', new URL('../../gpu/package.json', import.meta.url))
const drivers = '/usr/share/vulkan/icd.d'
const runs = existsSync(enginePath) && existsSync(drivers) && readdirSync(drivers).length > 0
const hint = runs ? '' : ' (skipped: `npm run vulkan-build`, and the packages libvulkan1 and mesa-vulkan-drivers)'

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined }
const modelPath = builtinModel.path

function createEngine(options: Partial<LoadOptions> = {}): LlamaEngine {
  const load = { modelPath, slots: 4, contextLength: 2048, threads: 1, flashAttention: true, ...options }
  return new LlamaEngine({ id: 'tiny', locate: async () => load, log: quiet })
}

describe.skipIf(!runs || !isFullLength)(`llama.cpp's Vulkan build${hint || nightlyHint}`, () => {
  beforeAll(() => void vi.stubEnv('GGML_VK_VISIBLE_DEVICES', '0'))
  afterAll(() => void vi.unstubAllEnvs())

  test('computes on the device that it names', async () => {
    expect(await findBackend({ modelPath, enginePath })).toMatchObject({
      gpu: 'vulkan',
      gpus: [{ name: 'Vulkan0', description: expect.stringMatching(/./) }],
    })
  })

  describe('a mixture of experts', () => {
    let folder: string
    let mixture: string
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'dragoman-experts-'))
      mixture = join(folder, 'mixture.gguf')
      await writeFile(mixture, encodeSmallModel('qwen3moe', { width: 256 }))
    })
    afterAll(() => rm(folder, { recursive: true }))

    /** What it says, and its weights on each GPU. */
    async function load(options: Partial<LoadOptions>) {
      const lines: string[] = []
      const log = { ...quiet, debug: (_: object, message: string) => void lines.push(message) }
      const plan = { modelPath: mixture, slots: 1, contextLength: 512, threads: 1, flashAttention: true, ...options }
      const engine = new LlamaEngine({ id: 'm', locate: async () => ({ ...plan, enginePath }), log })
      onTestFinished(() => engine.close())
      const { text } = (await completeChoices(engine, chatRequest('Hi', { maxOutputTokens: 4 }))).choices[0] ?? {}
      const found = lines.join('\n').matchAll(/(Vulkan\d) model buffer size = +([\d.]+) MiB/g)
      return { text, mib: Object.fromEntries(Array.from(found, ([, device, size]) => [device, Number(size)])) }
    }
    const mibOf = (bytes = 0) => bytes / 2 ** 20

    test('keeps the experts of layers in the memory of the machine, as configured or as its free memory requires', async () => {
      const processor = await load({ gpuLayers: 0 })
      const one = await load({ gpuLayers: 'max', placement: { experts: 1, devices: ['Vulkan0'] } })
      // More than any GPU has free, but for what belongs to no expert.
      const huge = { bytes: 2 ** 50, expertBytes: 2 ** 50 }
      const none = await load({ weights: { layers: [huge, huge], outputBytes: 0, contextBytesOfLayer: 0, workBytes: 0 } })
      expect([one.text, none.text]).toEqual([processor.text, processor.text])
      const { layers = [] } = (await readWeights(mixture)) ?? {}
      expect((one.mib.Vulkan0 ?? 0) - (none.mib.Vulkan0 ?? 0)).toBeCloseTo(mibOf(layers[1]?.expertBytes), 1)
      expect(none.mib.Vulkan0).toBeGreaterThan(0)
    })

    test('is divided among GPUs so that each has room for its layers', async () => {
      vi.stubEnv('GGML_VK_VISIBLE_DEVICES', '0,0')
      onTestFinished(() => void vi.stubEnv('GGML_VK_VISIBLE_DEVICES', '0'))
      const gpus = await findBackend({ modelPath, enginePath })
      const freeBytes = 'gpus' in gpus ? (gpus.gpus[0]?.freeBytes ?? 0) : 0
      // By free memory alone, llama.cpp would give the first GPU two of three parts: both layers.
      const layers = [0.7, 0.3].map((share) => ({ bytes: share * freeBytes, expertBytes: 0.1 * freeBytes }))
      const { text, mib } = await load({
        weights: { layers, outputBytes: 0.2 * freeBytes, contextBytesOfLayer: 0, workBytes: 0 },
      })
      expect(text).toBe((await load({ gpuLayers: 0 })).text)
      const real = await readWeights(mixture)
      expect(mib.Vulkan0).toBeCloseTo(mibOf(real?.layers[0]?.bytes), 1)
      expect(mib.Vulkan1).toBeCloseTo(mibOf((real?.layers[1]?.bytes ?? 0) + (real?.outputBytes ?? 0)), 1)
    })
  })

  test('answers as the processor does, with log-probabilities that are near', async () => {
    const engines = [createEngine({ enginePath, gpuLayers: 'max' }), createEngine()]
    try {
      const question = () => chatRequest('What is the capital of France?', { ignoreEos: false, logprobs: { top: 1 } })
      const [gpu, processor] = await Promise.all(
        engines.map(async (engine) => (await completeChoices(engine, question())).choices[0]),
      )
      expect(gpu?.text).toContain('Paris')
      expect(gpu?.text).toBe(processor?.text)
      const logprobs = (tokens = gpu?.tokens) => tokens?.map(({ logprob }) => logprob) ?? []
      for (const [at, logprob] of logprobs(processor?.tokens).entries()) expect(logprobs()[at]).toBeCloseTo(logprob, 1)
    } finally {
      await Promise.all(engines.map((engine) => engine.close()))
    }
  })
})
