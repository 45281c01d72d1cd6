import { describe, expect, test } from 'vitest'
import { loadConfig } from './load.ts'
import { withModelFlags } from './model-flags.ts'
import { modelSchema } from './schema.ts'

type Flags = Parameters<typeof loadConfig>[0]['flags']

const load = (flags: Flags) => loadConfig({ flags, env: {}, cwd: '/work', userHome: '/home/me' })

describe('settings of the model on the command line', () => {
  test('the settings are those of each model of --model; the other names are for the first', async () => {
    const modelFlags = { context: '32768', slots: '1', gpuLayers: 'max', threads: '3', aliases: ['claude-*', 'gpt-*'] }
    const { models } = await load({ models: ['/m/a.gguf', '/m/b.gguf'], modelFlags })
    const settings = { contextLength: 32_768, slots: 1, gpuLayers: 'max', threads: 3 }
    expect(models).toMatchObject([
      { id: 'a', ...settings, aliases: ['default', 'claude-*', 'gpt-*'] },
      { id: 'b', ...settings, aliases: [] },
      { id: 'dragoman-tiny', slots: 4 },
    ])
    expect(models[2]).not.toHaveProperty('contextLength')
  })

  test.each<[string, Flags, string]>([
    [
      'without a model',
      { modelFlags: { context: '32768', aliases: ['x'] } },
      '--context, --alias: for the model that --model names; add --model, or set it in the configuration file',
    ],
    [
      'that are wrong, all of them and once',
      { models: ['/m/a.gguf', '/m/b.gguf'], modelFlags: { context: '32k', slots: '0', gpuLayers: 'all' } },
      '--context: must be a number, got "32k"\n' +
        '--slots: must be at least 1, got 0\n' +
        '--gpu-layers: must be one of: auto, max, got "all"',
    ],
  ])('%s are refused', async (_, flags, message) => {
    await expect(load(flags)).rejects.toMatchObject({ code: 'invalid-request', message })
  })

  test('the settings change a model of the configuration, unless it runs elsewhere', () => {
    const llama = modelSchema.parse({ engine: 'llama', id: 'm', source: '/m.gguf', contextLength: 4096 })
    expect(withModelFlags(llama, { context: '8192' })).toEqual({ ...llama, contextLength: 8192 })
    const fake = modelSchema.parse({ engine: 'fake', id: 'f', script: 'from-request' })
    expect(withModelFlags(fake, {})).toBe(fake)
    expect(() => withModelFlags(fake, { threads: '2' })).toThrow("--threads: model 'f' runs on the engine 'fake'")
  })
})
