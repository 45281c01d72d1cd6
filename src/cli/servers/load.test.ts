import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type RunningApp, startApp } from '../../../test/support/http/app.ts'
import { load, ps, unload } from './load.ts'

let app: RunningApp
beforeAll(async () => {
  app = await startApp({
    builtinModel: false,
    models: [{ engine: 'fake', id: 'echo', script: 'from-request', load: 'demand' }],
  })
})
afterAll(() => app.close())

/** What a command prints. */
async function printed(run: () => Promise<void>): Promise<string> {
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined)
  try {
    await run()
    return log.mock.calls.flat().join('\n')
  } finally {
    log.mockRestore()
  }
}

test('a model is loaded with settings, shown, and unloaded', async () => {
  const server = { url: app.url }
  expect(await printed(() => ps(server, false))).toBe('MODEL  STATE  ENGINE  VARIANT  CONTEXT  REQUESTS')
  expect(await printed(() => load(server, 'echo', { context: '100', slots: '2' }))).toBe('echo is loaded (context: 100 tokens)')
  expect(await printed(() => load(server, 'echo', { context: '100', slots: '2' }))).toContain('was loaded already')
  expect(await printed(() => ps(server, false))).toMatch(/echo +ready +fake +- +100 +0\/2/)
  expect(await printed(() => unload(server, 'echo', {}))).toBe('echo is unloaded')
  expect(await printed(() => ps(server, true))).toMatch(/echo +stopped/)
})

test('what is wrong is said', async () => {
  const server = { url: app.url }
  await expect(load(server, 'unknown', {})).rejects.toThrow("there is no model 'unknown'")
  await expect(load(server, 'echo', { context: 'many' })).rejects.toThrow("--context must be a whole number, not 'many'")
  await expect(unload(server, 'unknown', {})).rejects.toThrow("there is no model 'unknown'; there are: echo")
})
