import { existsSync, readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { LoadOptions } from '../../../src/engine/llama/channel/ipc.ts'
import { LlamaEngine } from '../../../src/engine/llama/engine.ts'
import { findBackend } from '../../../src/engine/llama/find-backend.ts'
import { builtinModel } from '../../../src/registry/names/builtin-model.ts'
import { chatRequest, completeChoices } from '../../engine-contract.ts'
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

describe.skipIf(!runs)(`llama.cpp's Vulkan build${hint}`, () => {
  beforeAll(() => void vi.stubEnv('GGML_VK_VISIBLE_DEVICES', '0'))
  afterAll(() => void vi.unstubAllEnvs())

  test('computes on the device that it names', async () => {
    expect(await findBackend({ modelPath, enginePath })).toMatchObject({ gpu: 'vulkan', devices: [expect.stringMatching(/./)] })
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
