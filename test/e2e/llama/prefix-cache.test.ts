import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { LlamaEngine } from '../../../src/engine/llama/engine.ts'
import { chatRequest, complete } from '../../engine-contract.ts'
import { startApp } from '../../support/http/app.ts'
import { writeRandomAdapter } from '../../support/llama/random-adapter.ts'

const modelPath = fileURLToPath(new URL('../../../models/dragoman-tiny.gguf', import.meta.url))
const model = { slots: 1, contextLength: 512, threads: 1, flashAttention: true }
const cats = 'The cat sat on the mat. '.repeat(12)
const dogs = 'A dog ran along the road. '.repeat(12)
const seas = 'We all like to read about the sea. '.repeat(12)
const birds = 'Some birds fly over our sea. '.repeat(12)
/** What all conversations begin with: the chat template. */
const little = 40
/** Shorter than each of the texts. */
const long = 70

type Adapters = readonly { readonly path: string; readonly scale: number }[]

describe('the prefix cache of the embedded engine', () => {
  let folder: string
  let warnings: string[]
  const engines = new Set<LlamaEngine>()
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dragoman-prefixes-'))
    warnings = []
  })
  afterEach(async () => {
    await Promise.all([...engines].map((engine) => engine.close()))
    engines.clear()
    await rm(folder, { recursive: true })
  })

  type Options = {
    maxBytes?: number
    memoryBytes?: number | 'spare'
    isOn?: boolean
    contextLength?: number
    adapters?: Adapters
    slots?: number
  }
  function createEngine(options: Options = {}): LlamaEngine {
    const { maxBytes = 1e9, memoryBytes = 0, isOn = true, contextLength = 512, adapters = [], slots = 1 } = options
    const disk = maxBytes === 0 ? {} : { disk: { folder, maxBytes } }
    const prefixCache = isOn ? { prefixCache: { ...disk, memoryBytes, minTokens: 64 } } : {}
    const log = { debug: () => undefined, info: () => undefined, warn: (_: object, text: string) => void warnings.push(text) }
    const engine = new LlamaEngine({
      id: 'tiny',
      locate: async () => ({ modelPath, ...model, slots, contextLength, adapters: [...adapters], ...prefixCache }),
      log,
    })
    engines.add(engine)
    return engine
  }
  /** The reply, and how much of its prompt was not computed. */
  async function ask(engine: LlamaEngine, text: string, owner = 'anna') {
    const { usage, ...reply } = await complete(engine, { ...chatRequest(text, { maxOutputTokens: 12 }), owner })
    const [from] = Object.keys(usage?.cachedIn ?? {})
    return { reply: reply.text, cached: usage?.cachedInputTokens ?? Number.NaN, from }
  }
  async function filesOf(): Promise<string[]> {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  }
  async function totalSize(): Promise<number> {
    const sizes = await Promise.all((await filesOf()).map(async (path) => (await stat(path)).size))
    return sizes.reduce((sum, size) => sum + size, 0)
  }

  test.each([
    { tier: 'memory', options: { memoryBytes: 1e9, maxBytes: 0 } },
    { tier: 'disk', options: {} },
  ])(
    'two conversations that alternate on one slot find their prefixes in $tier, with the same texts',
    async ({ tier, options }) => {
      const [plain, caching] = [createEngine({ isOn: false }), createEngine(options)]
      const turns = [cats, dogs, `${cats}And`, `${dogs}And`, `${cats}And then`]
      const [expected, found] = [[] as string[], [] as string[]]
      for (const [at, text] of turns.entries()) {
        const [without, restored] = [await ask(plain, text), await ask(caching, text)]
        expected.push(without.reply)
        found.push(restored.reply)
        expect(without.cached).toBeLessThan(little)
        if (at < 2) expect(restored.cached).toBeLessThan(little)
        else expect(restored.cached).toBeGreaterThan(long)
        if (at >= 2) expect(restored.from).toBe(tier)
      }
      expect(found).toEqual(expected)
      expect(warnings).toEqual([])
    },
  )

  test('what the slots hold outlives the worker, in files that only their user can read', async () => {
    const first = createEngine()
    const { reply } = await ask(first, cats)
    await first.unload({ drainMs: 1000 })
    expect((await filesOf()).length).toBe(1)
    for (const file of await filesOf()) expect((await stat(file)).mode & 0o777).toBe(0o600)
    const again = await ask(first, cats)
    expect(again.reply).toBe(reply)
    expect(again.cached).toBeGreaterThan(long)
    await first.close()
    expect((await ask(createEngine(), cats)).cached).toBeGreaterThan(long)
  })

  test('what is in memory outlives the worker, too', async () => {
    const engine = createEngine({ memoryBytes: 1e9 })
    for (const text of [cats, dogs]) await ask(engine, text)
    expect(await filesOf()).toEqual([])
    await engine.unload({ drainMs: 1000 })
    for (const text of [cats, dogs]) expect(await ask(engine, text)).toMatchObject({ cached: expect.any(Number), from: 'disk' })
  })

  test('memory that is lent is used, and given back by a move to the disk', async () => {
    const engine = createEngine({ memoryBytes: 'spare' })
    engine.capabilities.spareMemory?.use(1e9)
    for (const text of [cats, dogs]) await ask(engine, text)
    expect(await filesOf()).toEqual([])
    engine.capabilities.spareMemory?.use(0)
    // Written under another name until it is complete.
    await expect.poll(async () => (await filesOf()).filter((path) => !path.endsWith('.tmp'))).toHaveLength(1)
    expect(await ask(engine, cats)).toMatchObject({ from: 'disk' })
  })

  test('memory has a limit: the least recently used goes to the disk', async () => {
    const measuring = createEngine()
    await ask(measuring, seas)
    await measuring.close()
    const [file = ''] = await filesOf()
    const engine = createEngine({ memoryBytes: Math.round(2.5 * (await stat(file)).size) })
    await rm(file)
    for (const text of [dogs, birds, seas, cats]) await ask(engine, text)
    expect(await filesOf()).toHaveLength(1)
    expect(await ask(engine, birds)).toMatchObject({ from: 'memory' })
    expect(await ask(engine, dogs)).toMatchObject({ from: 'disk' })
  })

  test.each([
    { tier: 'a slot', slots: 2, options: {} },
    { tier: 'memory', slots: 1, options: { memoryBytes: 1e9, maxBytes: 0 } },
    { tier: 'disk', slots: 1, options: {} },
  ])('another owner gets nothing from $tier', async ({ slots, options }) => {
    const engine = createEngine({ ...options, slots })
    await ask(engine, cats, 'anna')
    expect((await ask(engine, dogs, 'ben')).cached).toBe(0)
    expect((await ask(engine, cats, 'ben')).cached).toBeLessThan(little)
    if (slots === 1) await ask(engine, birds, 'ben')
    expect((await ask(engine, cats, 'anna')).cached).toBeGreaterThan(long)
  })

  test('other settings of the context delete what was stored', async () => {
    const engine = createEngine()
    await ask(engine, cats)
    await engine.close()
    expect((await ask(createEngine({ contextLength: 768 }), cats)).cached).toBeLessThan(little)
    expect(await filesOf()).toEqual([])
  })

  test('prefixes belong to the adapters that they were read with: another scale, or none, begins anew', {
    timeout: 240_000,
  }, async () => {
    const adapterFolder = await mkdtemp(join(tmpdir(), 'dragoman-adapters-'))
    onTestFinished(() => rm(adapterFolder, { recursive: true }))
    const path = join(adapterFolder, 'one.gguf')
    await writeRandomAdapter(path, 1, { embeddingLength: 256 })
    const askWith = async (adapters: Adapters) => {
      const engine = createEngine({ adapters })
      const asked = await ask(engine, cats)
      await engine.close()
      return asked
    }
    const first = await askWith([{ path, scale: 1 }])
    const again = await askWith([{ path, scale: 1 }])
    expect(again.reply).toBe(first.reply)
    expect(again.cached).toBeGreaterThan(long)
    const [weaker, without] = [await askWith([{ path, scale: 0.1 }]), await askWith([])]
    for (const { cached } of [first, weaker, without]) expect(cached).toBeLessThan(little)
    expect(new Set([first, weaker, without].map(({ reply }) => reply)).size).toBe(3)
  })

  test('the files stay below their limit: the least recently used goes first', async () => {
    const measuring = createEngine()
    await ask(measuring, cats)
    await measuring.close()
    const [file = ''] = await filesOf()
    const maxBytes = Math.round(2.5 * (await stat(file)).size)
    const engine = createEngine({ maxBytes })
    for (const text of [dogs, birds, seas]) await ask(engine, text)
    await engine.close()
    expect(await totalSize()).toBeGreaterThan(0)
    expect(await totalSize()).toBeLessThanOrEqual(maxBytes)
    expect((await ask(createEngine({ maxBytes }), cats)).cached).toBeLessThan(little)
  })

  test.each([
    {
      name: 'has wrong bytes',
      damage: async (file: string) => {
        const bytes = await readFile(file)
        bytes.fill(0, bytes.length - 5000)
        await writeFile(file, bytes)
      },
    },
    {
      name: 'has wrong bytes in what conversations have in common',
      damage: async (file: string) => {
        if (file.endsWith('.piece')) await writeFile(file, new Uint8Array((await stat(file)).size))
      },
    },
    { name: 'lacks its end', damage: async (file: string) => truncate(file, (await stat(file)).size - 1000) },
    { name: 'is empty', damage: (file: string) => truncate(file, 0) },
    { name: 'is gone', damage: (file: string) => rm(file) },
  ])('a file that $name costs the prefix and nothing else', async ({ damage }) => {
    const engine = createEngine()
    const many = cats.repeat(3)
    const { reply } = await ask(engine, many)
    await ask(engine, dogs)
    expect((await filesOf()).some((file) => file.endsWith('.piece'))).toBe(true)
    for (const file of await filesOf()) await damage(file)
    const again = await ask(engine, many)
    expect(again.reply).toBe(reply)
    expect(again.cached).toBeLessThan(little)
    expect(warnings).toEqual([expect.stringContaining('could not be restored')])
    // What was damaged is deleted; what the slot held since is stored.
    for (const text of [dogs, many]) expect((await ask(engine, text)).cached).toBeGreaterThan(long)
  })

  test('what two conversations begin with is kept once, on the disk and in memory', async () => {
    const system = 'The cat sat on the mat and looked at the sea. '.repeat(34)
    const [first, second] = [`${system}${seas.slice(0, 200)}`, `${system}${birds.slice(0, 200)}`]
    const talk = async (engine: LlamaEngine) => {
      await ask(engine, first)
      await ask(engine, second)
      const sizes = [await totalSize()]
      await ask(engine, dogs)
      sizes.push(await totalSize())
      for (const text of [first, second]) expect((await ask(engine, `${text}And`)).cached).toBeGreaterThan(600)
      await engine.close()
      return sizes
    }
    const options = { contextLength: 1024 }
    const [one = 0, both = 0] = await talk(createEngine(options))
    expect(one).toBeGreaterThan(0)
    expect(both).toBeLessThan(1.5 * one)
    await rm(folder, { recursive: true })
    await mkdir(folder)
    expect(await talk(createEngine({ ...options, memoryBytes: Math.round(1.5 * one) }))).toEqual([0, 0])
    expect(warnings).toEqual([])
  })

  test('a disk that fills up while a prefix is written costs the prefix and nothing else', async () => {
    const engine = createEngine()
    const { reply } = await ask(engine, cats)
    // A real write of the worker fails in the middle, as on a full disk.
    const worker = execFileSync('pgrep', ['--parent', `${process.pid}`, '--full', 'worker'], { encoding: 'utf8' }).trim()
    const limit = (bytes: string) => execFileSync('prlimit', ['--pid', worker, `--fsize=${bytes}:`])
    limit('20000')
    await ask(engine, dogs)
    expect(await filesOf()).toEqual([])
    expect(warnings).toEqual([expect.stringContaining('a prefix could not be saved: EFBIG')])
    const again = await ask(engine, cats)
    expect(again).toMatchObject({ reply, from: 'slot' })
    expect(again.cached).toBeLessThan(little)
    limit('unlimited')
    await ask(engine, dogs)
    expect(await ask(engine, cats)).toMatchObject({ reply, from: 'disk' })
  })

  test('a folder that cannot be written fails no request, and is reported once', async () => {
    await writeFile(join(folder, 'file'), '')
    folder = join(folder, 'file')
    const engine = createEngine()
    for (const text of [cats, dogs, cats]) expect((await ask(engine, text)).cached).toBeLessThan(little)
    await engine.unload({ drainMs: 0 })
    expect(warnings).toEqual([expect.stringContaining('cannot be kept on the disk')])
    folder = join(folder, '..')
  })
})

test('callers of a server are owners by their keys, and usage reports what was restored', async () => {
  const prefixCache = { memory: 'off', minTokens: 64 } as const
  const models = [{ id: 'tiny', engine: 'llama' as const, source: modelPath, ...model, prefixCache }]
  const server = { apiKeys: ['anna', 'ben'].map((name) => ({ key: `key-of-${name}`, name })) }
  const app = await startApp({ models, builtinModel: false, server })
  try {
    const ask = async (name: string, content: string) => {
      const body = JSON.stringify({ model: 'tiny', messages: [{ role: 'user', content }], temperature: 0, max_tokens: 8 })
      const headers = { 'content-type': 'application/json', authorization: `Bearer key-of-${name}` }
      const reply = await fetch(`${app.url}/v1/chat/completions`, { method: 'POST', headers, body })
      const { usage } = (await reply.json()) as { usage: { prompt_tokens_details: { cached_tokens: number } } }
      return usage.prompt_tokens_details.cached_tokens
    }
    await ask('anna', cats)
    expect(await ask('ben', dogs)).toBe(0)
    expect(await ask('ben', cats)).toBeLessThan(little)
    await ask('ben', birds)
    expect(await ask('anna', cats)).toBeGreaterThan(long)
  } finally {
    await app.close()
  }
})
