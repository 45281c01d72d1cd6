import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { serverNeed, workerNeed } from '../../../src/app/models/memory/memory-sharing.ts'
import { ps } from '../../../src/cli/servers/load.ts'
import type { ServerPlan } from '../../../src/engine/llama-server/server-plan.ts'
import { builtinModel } from '../../../src/registry/names/builtin-model.ts'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'
import { llamaServerBinary, llamaServerHint } from '../../support/llama/llama-server.ts'
import { realModel } from '../../support/llama/models.ts'
import { writeRandomModel } from '../../support/llama/random-gguf.ts'
import { loadFactor } from '../../support/process/stall-bound.ts'

let app: RunningApp | undefined
afterEach(async () => {
  await app?.close()
  app = undefined
})

const tiny = (id: string, settings: object = {}) =>
  ({ id, engine: 'llama', source: builtinModel.path, contextLength: 1024, slots: 2, load: 'demand', ...settings }) as const

/** Longer than a request takes. */
const minResidencyMs = Math.ceil(500 * loadFactor())
/** One of them fits, two do not: each needs 180 MB for its process alone. */
const oneFits = { budget: '300MB', minResidencyMs } as const

async function start(models: Parameters<typeof startApp>[0]['models'], memory: object = oneFits): Promise<RunningApp> {
  app = await startApp({ builtinModel: false, memory, models })
  return app
}

function complete(url: string, model: string, maxTokens = 4): Promise<Response> {
  const body = JSON.stringify({ model, prompt: 'one two', max_tokens: maxTokens, ignore_eos: true })
  return fetch(`${url}/v1/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
}

async function stateOf(url: string, id: string): Promise<string | undefined> {
  const { models } = (await (await fetch(`${url}/ready`)).json()) as { models: { id: string; state: string }[] }
  return models.find((model) => model.id === id)?.state
}

const workerPidOf = ({ logLines }: RunningApp): number => {
  const ready = logLines().findLast(({ msg }) => msg === 'model is ready') as { workerPid?: number } | undefined
  return ready?.workerPid ?? -1
}

/** The same on llama-server, which needs less for its process. */
const served = (id: string) => ({ ...tiny(id), engine: 'llama-server', binary: llamaServerBinary ?? '' }) as const

/** Five requests for each model, from an agent each; how many loads they took. */
async function countLoads({ url, logLines }: RunningApp): Promise<number> {
  const statuses: number[] = []
  const agent = async (model: string) => {
    for (let turn = 0; turn < 5; turn += 1) statuses.push((await complete(url, model)).status)
  }
  await Promise.all([agent('a'), agent('b')])
  expect(statuses).toEqual(Array.from({ length: 10 }, () => 200))
  return logLines().filter(({ msg }) => msg === 'model is ready').length
}

describe('two models that do not fit together', () => {
  // Ten requests in turn would be ten loads.
  test('take turns, and no request fails', async () => {
    expect(await countLoads(await start([tiny('a'), tiny('b')]))).toBeLessThanOrEqual(6)
  })

  test.skipIf(llamaServerBinary === undefined)(`take turns on llama-server too${llamaServerHint}`, async () => {
    const memory = { budget: '100MB', minResidencyMs }
    expect(await countLoads(await start([served('a'), served('b')], memory))).toBeLessThanOrEqual(6)
  })

  test('do not stop what runs', async () => {
    const { url } = await start([tiny('a'), tiny('b')])
    const long = complete(url, 'a', 400)
    await until(async () => (await stateOf(url, 'a')) === 'ready')
    const other = complete(url, 'b')
    const usage = (response: Response) => response.json().then((body) => (body as { usage: object }).usage)
    expect(await usage(await long)).toMatchObject({ completion_tokens: 400 })
    expect((await other).status).toBe(200)
  })

  test('a worker that crashes while another model waits loses no request that could be served', async () => {
    const running = await start([tiny('a'), tiny('b')], { budget: '300MB', minResidencyMs: 5000 })
    const { url } = running
    await complete(url, 'a')
    const requests = Promise.all([...Array.from({ length: 3 }, () => complete(url, 'b')), complete(url, 'a')])
    process.kill(workerPidOf(running), 'SIGKILL')
    for (const response of await requests) expect(response.status).toBe(200)
  })

  test('are both ready for requests, whichever is loaded', async () => {
    const { url } = await start([tiny('a', { load: 'start', required: true }), tiny('b', { load: 'start', required: true })])
    expect([await stateOf(url, 'a'), await stateOf(url, 'b')].toSorted()).toEqual(['ready', 'stopped'])
    expect((await fetch(`${url}/ready`)).status).toBe(200)
    expect((await complete(url, 'b')).status).toBe(200)
    expect((await fetch(`${url}/ready`)).status).toBe(200)
  })
})

test('models that fit together stay loaded', async () => {
  const { url, logLines } = await start([tiny('a'), tiny('b')], { budget: '1GB' })
  for (const model of ['a', 'b', 'a', 'b']) expect((await complete(url, model)).status).toBe(200)
  expect(logLines().filter(({ msg }) => msg === 'model is ready')).toHaveLength(2)
})

test('an idle model is unloaded, and the next request loads it again', async () => {
  const { url } = await start([tiny('a', { unloadAfterMs: 50 })])
  expect((await complete(url, 'a')).status).toBe(200)
  await until(async () => (await stateOf(url, 'a')) === 'stopped')
  expect((await complete(url, 'a')).status).toBe(200)
})

test('a model that does not fit at all is refused with its numbers', async () => {
  const { url } = await start([tiny('a', { slots: 16, contextLength: 4096 })])
  const response = await complete(url, 'a')
  expect(response.status).toBe(503)
  const { error } = (await response.json()) as { error: { message: string } }
  expect(error.message).toMatch(
    /^model 'a' could not be loaded: it needs about \d+\.\d MB of memory \(weights .*; context .* for slots: 16, of 4096 tokens each; .*\), and memory\.budget is 300\.0 MB: set contextLength \d+ with slots: 16 or contextLength 4096 with slots: 1/,
  )
})

describe('a model without a context in its configuration', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dragoman-long-context-'))
    await writeRandomModel(join(folder, 'long.gguf'), { contextLength: 1_000_000 })
  })
  afterAll(() => rm(folder, { recursive: true }))

  const contextOf = async (budget: string) => {
    const running = await start([{ id: 'long', engine: 'llama', source: join(folder, 'long.gguf'), load: 'demand' }], { budget })
    expect((await complete(running.url, 'long')).status).toBe(200)
    const { data } = (await (await fetch(`${running.url}/v1/models`)).json()) as { data: { context_length?: number }[] }
    const said = `${running.logLines().find(({ msg }) => `${msg}`.startsWith('context: '))?.msg}`
    const log = vi.spyOn(console, 'log').mockImplementation(() => undefined)
    await ps({ url: running.url }, false)
    const listed = log.mock.calls.flat().join('\n')
    log.mockRestore()
    return { tokens: data[0]?.context_length ?? 0, said, listed }
  }

  test('has one that leaves half of the memory to others, and the log says what would fit', async () => {
    const { tokens, said, listed } = await contextOf('600MB')
    expect(tokens).toBeGreaterThan(30_000)
    expect(tokens).toBeLessThan(100_000)
    expect(said).toMatch(
      new RegExp(
        `^context: ${tokens} of the 1000000 tokens that the model was trained for: memory allows no more with slots: 4 \\(its share, 300\\.0 MB`,
      ),
    )
    const alone = Number(/or (\d+) with slots: 1$/.exec(said)?.[1])
    expect(alone).toBeGreaterThan(tokens)
    expect(listed).toMatch(new RegExp(`^long .* ${tokens} of 1000000 +0/4$`, 'm'))
    expect(listed).toMatch(
      new RegExp(`^long was trained for 1000000 tokens, and memory allows .*, or ${alone} with --slots 1: `, 'm'),
    )
  })

  test('has one as long as a chat needs where the memory is small', async () => {
    const { tokens, said } = await contextOf('220MB')
    expect(tokens).toBe(8192)
    expect(said).toContain('context: 8192 of the 1000000 tokens')
  })
})

/** What the estimate may be off: below what is used by a tenth, above by a fifth and what is allocated but not touched. */
function expectEstimate(bytes: number, usedBytes: number): void {
  expect(bytes).toBeGreaterThan(usedBytes * 0.9)
  expect(bytes).toBeLessThan(usedBytes * 1.2 + 128e6)
}

/** With AMX, llama.cpp copies most weights into an order of its own: then the file's pages are counted, although they are free to go. */
function residentBytes(pid: number, modelPath: string): number {
  const bytes = Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024
  return / amx_int8\b/.test(readFileSync('/proc/cpuinfo', 'utf8')) ? bytes - mappedBytes(pid, modelPath) : bytes
}

/** The pages of a file that a process has mapped and that are in memory. */
function mappedBytes(pid: number, path: string): number {
  const mappings = readFileSync(`/proc/${pid}/smaps`, 'utf8').split(/^(?=[\da-f]+-[\da-f]+ )/m)
  const ofFile = mappings.filter((mapping) => mapping.slice(0, mapping.indexOf('\n')).endsWith(path))
  return ofFile.reduce((sum, mapping) => sum + Number(/^Rss:\s+(\d+) kB/m.exec(mapping)?.[1]) * 1024, 0)
}

describe.skipIf(process.platform !== 'linux')('the estimate is near what the process uses', () => {
  test.each([
    ['the built-in model', builtinModel.path, { contextLength: 8192, slots: 4 }],
    ['the default model', realModel, { contextLength: 2048, slots: 1 }],
  ] as const)('on the embedded engine: %s', async (_, path, settings) => {
    if (path === undefined) return
    const model = { ...tiny('m', settings), source: path }
    const running = await start([model], { budget: '100GB' })
    expect((await complete(running.url, 'm')).status).toBe(200)
    const { bytes } = await workerNeed({ modelPath: path, flashAttention: true, ...settings })
    expectEstimate(bytes, residentBytes(workerPidOf(running), path))
  })

  test.skipIf(llamaServerBinary === undefined)(`on llama-server${llamaServerHint}`, async () => {
    const settings = { contextLength: 8192, slots: 4 }
    const model = {
      id: 'm',
      engine: 'llama-server',
      binary: llamaServerBinary ?? '',
      source: builtinModel.path,
      ...settings,
    } as const
    const running = await start([model], { budget: '100GB' })
    expect((await complete(running.url, 'm')).status).toBe(200)
    const plan: ServerPlan = { binary: '', modelPath: builtinModel.path, flashAttention: 'auto', extraArguments: [], ...settings }
    const { bytes } = await serverNeed(plan)
    expectEstimate(bytes, residentBytes(workerPidOf(running), builtinModel.path))
  })
})
