import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { LoadOptions } from '../../../src/engine/llama/channel/ipc.ts'
import { LlamaEngine } from '../../../src/engine/llama/engine.ts'

const never = new AbortController().signal
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined }
const modelPath = fileURLToPath(new URL('../../../models/dragoman-tiny.gguf', import.meta.url))
const sound: LoadOptions = { modelPath, slots: 1, contextLength: 512, threads: 1, flashAttention: true }

/** What the worker needs of node-llama-cpp before it loads a model. */
const names = 'export const LlamaLogLevel = {}; export class GgufInsights {}; export const readGgufFileInfo = () => undefined'
const endless = 'export const getLlama = () => new Promise(() => setInterval(() => undefined, 1000))'

describe('a load of the embedded engine', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dragoman-broken-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /** A folder with this program in place of node-llama-cpp. */
  async function llamaThat(program: string): Promise<{ enginePath: string }> {
    const enginePath = await mkdtemp(join(folder, 'engine-'))
    const llama = join(enginePath, 'node_modules', 'node-llama-cpp')
    await mkdir(llama, { recursive: true })
    const koffi = fileURLToPath(new URL('../../../node_modules/koffi', import.meta.url))
    await symlink(koffi, join(enginePath, 'node_modules', 'koffi'), 'junction')
    await writeFile(join(llama, 'package.json'), '{ "name": "node-llama-cpp", "type": "module", "exports": "./index.js" }')
    await writeFile(join(llama, 'index.js'), `${names}\n${program}`)
    return { enginePath }
  }

  test.each<{ name: string; broken: () => Promise<Partial<LoadOptions>>; node?: string; reason: RegExp }>([
    {
      name: 'whose worker cannot start',
      broken: async () => ({}),
      node: '/no/such/node',
      reason: /could not be started.*ENOENT/,
    },
    {
      name: 'whose worker ends at its start',
      broken: () => llamaThat(`${endless}; console.error('error: no driver'); process.exit(7)`),
      reason: /exited with code 7\): error: no driver/,
    },
    {
      name: 'whose settings the worker refuses',
      broken: async () => ({ slots: 0 }),
      reason: /invalid command \(options\.slots: /,
    },
    { name: 'of a file that is no model', broken: async () => ({ modelPath: import.meta.filename }), reason: /\S/ },
    {
      name: 'during which the worker fails outside of it',
      broken: () => llamaThat(`${endless}; setTimeout(() => Promise.reject(new Error('error: lost the device')))`),
      reason: /exited with code 1\).*error: lost the device/,
    },
    {
      name: 'whose worker sends what is no message',
      broken: () => llamaThat(`${endless}; process.send([{ type: 'greeting' }])`),
      reason: /ended \(it sent a message that is not valid\)/,
    },
  ])('$name fails and says why, and the next request loads', async ({ broken, node = process.execPath, reason }) => {
    let options: LoadOptions = { ...sound, ...(await broken()) }
    const engine = new LlamaEngine({ id: 'm', locate: async () => options, log: quiet })
    const { execPath } = process
    process.execPath = node
    try {
      const failed = { code: 'model-unavailable', message: expect.stringMatching(reason) }
      await expect(engine.ensureReady(never)).rejects.toMatchObject(failed)
      process.execPath = execPath
      expect(engine.state.type).toBe('failed')
      options = sound
      // After a failure, requests are refused for a moment.
      await expect.poll(() => engine.ensureReady(never).catch(() => 'refused')).toBeUndefined()
      expect(engine.state).toEqual({ type: 'ready' })
    } finally {
      process.execPath = execPath
      await engine.close()
    }
  })
})
