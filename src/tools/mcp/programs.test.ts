import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { collectGarbage } from '../../../test/support/process/collect-garbage.ts'
import type { Principal } from '../../contract/principal.ts'
import type { JsonObject } from '../../contract/request.ts'
import type { ToolListing, ToolOutcome, ToolSource } from '../../contract/server-tool.ts'
import { type ConfiguredServer, createMcpTools, type McpToolsOptions } from './mcp-tools.ts'

const program = fileURLToPath(new URL('../../../test/support/mcp/program.mjs', import.meta.url))
const pythonProgram = fileURLToPath(new URL('../../../test/support/mcp/program.py', import.meta.url))
const principal: Principal = { id: 'k', scopes: new Set(['inference', 'tools']) }

let source: ToolSource | undefined
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dragoman-mcp-'))
})

afterEach(async () => {
  await source?.close()
  rmSync(folder, { recursive: true, force: true })
})

function start(mode = 'good', more: Partial<ConfiguredServer> = {}, options: Partial<McpToolsOptions> = {}): ToolSource {
  const args = [program, mode, join(folder, 'pids')]
  const target = { type: 'program' as const, command: process.execPath, args, env: { GIVEN: 'yes' } }
  const servers = new Map([['test', { target, needsApproval: false, ...more }]])
  source = createMcpTools({ servers, allowedHosts: [], guard: { allowed: [] }, ...options })
  return source
}

async function list(signal = new AbortController().signal): Promise<ToolListing> {
  if (source === undefined) throw new Error('nothing was started')
  return source.list({ principal, names: ['test'], mcpServers: [], signal })
}

async function call(name: string, args: JsonObject = {}, signal = new AbortController().signal): Promise<ToolOutcome> {
  const tool = (await list()).tools.find(({ mcp }) => mcp?.name === name)
  if (tool === undefined) throw new Error(`there is no tool ${name}`)
  return tool.run({ arguments: args, session: { principalId: 'k', id: 's' }, signal })
}

const names = async () => (await list()).tools.map(({ name }) => name)

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('its tools have its name before theirs, in the letters that models accept, with schemas as they are', async () => {
  start()
  const { tools, absent } = await list()
  expect(tools.map(({ name }) => name).slice(0, 3)).toEqual(['test__echo', 'test__add_more', 'test__wait'])
  expect(tools[0]).toMatchObject({
    kind: 'mcp',
    mcp: { server: 'test', name: 'echo' },
    description: 'the tool echo',
    parameters: { type: 'object', properties: { text: { type: 'string' } } },
  })
  expect(absent).toEqual([])
  expect(await call('echo', { text: 'hello' })).toEqual({ text: 'hello', isError: false })
})

const hasPython = spawnSync('python3', ['--version']).status === 0
test.skipIf(!hasPython)('a server in Python is a server', async () => {
  const target = { type: 'program' as const, command: 'python3', args: [pythonProgram], env: {} }
  start('good', { target })
  expect(await names()).toEqual(['test__word_count'])
  expect(await call('word_count', { text: 'three short words' })).toEqual({ text: '3', isError: false })
})

test('only the tools that the operator allows are there; one that is not there is named', async () => {
  start('good', { allowedTools: ['echo', 'ecco'] })
  const { tools, absent } = await list()
  expect(tools.map(({ name }) => name)).toEqual(['test__echo'])
  expect(absent).toEqual([{ name: 'test', why: "it has no tool 'ecco' (allowedTools)" }])
})

test('tools of a server with approval need it', async () => {
  start('good', { needsApproval: true })
  for (const tool of (await list()).tools) expect(tool.needsApproval).toBe(true)
})

test('the list is kept, and asked for again when the server says that it changed', async () => {
  start()
  expect(await names()).not.toContain('test__more12')
  await call('add.more')
  expect(await names()).toContain('test__more12')
  await call('add.more')
  expect(await names()).toContain('test__more13')
})

test('a program gets what is configured, PATH, HOME, LANG and its mark, and nothing else of the environment', async () => {
  vi.stubEnv('DRAGOMAN_API_KEY', 'secret')
  start()
  const { text } = await call('environment')
  vi.unstubAllEnvs()
  const known = ['PATH', 'HOME', 'LANG', 'GIVEN', 'DRAGOMAN_PROGRAM', '__CF_USER_TEXT_ENCODING']
  expect(Object.keys(JSON.parse(text)).filter((name) => !known.includes(name))).toEqual([])
  expect(JSON.parse(text)).toMatchObject({ GIVEN: 'yes', PATH: process.env.PATH })
})

test('what else it prints does no harm', async () => {
  const lines: string[] = []
  start('noisy', {}, { onLine: (server, line) => lines.push(`${server}: ${line}`) })
  expect(await call('echo', { text: 'x' })).toMatchObject({ text: 'x' })
  expect(lines).toEqual(['test: starting'])
})

test('a line of its standard error that does not end is not kept', async () => {
  const lines: string[] = []
  start('good', {}, { onLine: (_, line) => lines.push(line) })
  await list()
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  expect(await call('complain', { megabytes: 64 })).toMatchObject({ text: 'complained' })
  collectGarbage()
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(16e6)
  expect(lines).toEqual([])
})

describe('a program that', () => {
  test.each<[string, string, RegExp]>([
    ['ends at once', 'exit', /it ended with exit code 3/],
    ['says nothing', 'mute', /it did not answer within 0\.5 s/],
    ['has a list that is none', 'no-list', /it sent a reply that is not valid MCP/],
  ])('%s is absent with that reason', async (_, mode, why) => {
    start(mode, {}, { limits: { startMs: mode === 'mute' ? 500 : 20_000 } })
    const { tools, absent } = await list()
    expect(tools).toEqual([])
    expect(absent).toEqual([{ name: 'test', why: expect.stringMatching(why) }])
  })

  test('a program that is not there is absent', async () => {
    start('good', { target: { type: 'program', command: join(folder, 'none'), args: [], env: {} } })
    expect((await list()).absent[0]?.why).toContain('it cannot be reached (ENOENT)')
  })

  test('a program whose list of tools has no last page is asked for some', async () => {
    start('endless')
    expect((await list()).tools).toHaveLength(16)
  })

  test('a program with a schema that no model could read lacks this tool', async () => {
    start('huge-schema')
    const { tools, absent } = await list()
    expect(tools.map(({ name }) => name)).toEqual(['test__echo'])
    expect(absent[0]?.why).toContain("the schema of 'big' has")
  })

  test.each<[string, string, RegExp]>([
    ['dies', 'die', /^The tool failed: it ended with exit code 7\. The call may still have been carried out\.$/],
    ['sends notifications without end', 'flood', /^The tool failed: it sent more than its limit/],
    ['sends a line without end', 'line', /^The tool failed: it sent more than its limit/],
    ['asks without end, and does not read the answers', 'ask', /^The tool failed: it does not read what it is sent/],
    ['answers with what is not MCP', 'wrong', /^The tool failed: it sent a reply that is not valid MCP\. The call may/],
    ['answers with another type', 'liar', /^The tool failed: it sent a reply that is not valid MCP\. The call may/],
  ])('%s during a call is told to the model, and the next call is answered', async (_, name, text) => {
    start()
    expect(await call(name)).toMatchObject({ text: expect.stringMatching(text), isError: true, advice: expect.any(String) })
    expect(await call('echo', { text: 'again' })).toEqual({ text: 'again', isError: false })
  })

  test('failed is not started again for a while, and then without making requests wait for long', async () => {
    start('exit', {}, { limits: { failedMs: 400, soonMs: 5000 } })
    const first = (await list()).absent[0]?.why
    expect((await list()).absent[0]?.why).toBe(first)
    await expect.poll(async () => (await list()).absent[0]?.why).toContain('exit code 3')
  })
})

describe('a slow server', () => {
  test('a slow server is waited for a little by a request that does not name it; its tools are there when it has answered', async () => {
    const failures: string[] = []
    const release = join(folder, 'release')
    const limits = { startMs: 60_000, soonMs: 50 }
    start('late', {}, { limits, onFailure: (_, why) => failures.push(why) })
    const all = () => source?.list({ principal, mcpServers: [], signal: new AbortController().signal })
    expect(await all()).toMatchObject({
      tools: [],
      absent: [
        { name: 'test', why: expect.stringContaining('has not answered within 0.05 s; it is being asked, for later requests') },
      ],
      others: [],
    })
    expect(failures).toEqual(['it has not answered within 0.05 s: a request goes without its tools'])
    const named = list()
    writeFileSync(release, '')
    expect((await named).tools.map(({ name }) => name)).toContain('test__echo')
    expect((await all())?.tools.map(({ name }) => name)).toContain('test__echo')
  })

  test('a slow server is not asked for a request that names other tools', async () => {
    start('family')
    const signal = new AbortController().signal
    const listing = await source?.list({ principal, names: ['web_search', 'testing__x'], mcpServers: [], signal })
    expect(listing).toMatchObject({ tools: [], absent: [], others: ['test'] })
    expect(existsSync(join(folder, 'pids'))).toBe(false)
  })
})

describe('a cancel', () => {
  test('a cancel ends a call immediately, and tells the server', async () => {
    start()
    const cancel = new AbortController()
    const waiting = call('wait', {}, cancel.signal)
    await list()
    await call('echo', { text: 'it runs' })
    cancel.abort()
    expect(await waiting).toEqual({
      text: 'The call was cancelled. The call may still have been carried out.',
      isError: true,
    })
    await expect.poll(async () => JSON.parse((await call('cancelled')).text)).toHaveLength(1)
  })

  test('while the server starts ends the waiting, not the start', async () => {
    start('mute', {}, { limits: { startMs: 60_000 } })
    const cancel = new AbortController()
    const listing = list(cancel.signal)
    cancel.abort()
    await expect(listing).rejects.toThrow('aborted')
  })
})

describe('processes', () => {
  const pids = () => readFileSync(join(folder, 'pids'), 'utf8').split(' ').map(Number)

  test('processes end with the server, children included, though they ignore the polite signal', async () => {
    start('family')
    await list()
    expect(pids().map(isRunning)).toEqual([true, true])
    await source?.close()
    await expect.poll(() => pids().map(isRunning)).toEqual([false, false])
  })

  test.runIf(process.platform === 'linux')(
    'processes in sessions of their own end with it, too, with and without a parent',
    async () => {
      start('daemons')
      await list()
      expect(pids().map(isRunning)).toEqual([true, true, true])
      await source?.close()
      await expect.poll(() => pids().map(isRunning)).toEqual([false, false, false])
    },
  )

  test.runIf(process.platform === 'linux')('processes end when the server has died', async () => {
    start('daemons')
    await call('die')
    const [, below = 0, orphan = 0] = pids()
    // Without its parent and without the mark, nothing finds it.
    onTestFinished(() => void process.kill(below))
    await expect.poll(() => isRunning(orphan)).toBe(false)
  })

  test('processes end when no call needed them for a while; the next call starts them again', async () => {
    start('family', {}, { limits: { idleMs: 50 } })
    await list()
    const before = pids()
    await expect.poll(() => before.map(isRunning)).toEqual([false, false])
    // The list is still known.
    expect(await names()).toContain('test__echo')
    expect(await call('echo', { text: 'again' })).toMatchObject({ text: 'again' })
    expect(pids()).not.toEqual(before)
  })

  test('processes stay while a call runs, however long, also when another has ended', async () => {
    start('family', {}, { limits: { idleMs: 20 } })
    const cancel = new AbortController()
    let isOver = false
    const file = join(folder, 'runs')
    const waiting = call('wait', { file }, cancel.signal).finally(() => {
      isOver = true
    })
    await expect.poll(() => existsSync(file)).toBe(true)
    const before = pids()
    await call('echo', { text: 'x' })
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect([isOver, pids(), before.map(isRunning)]).toEqual([false, before, [true, true]])
    cancel.abort()
    await waiting
  })

  test('processes are shared by calls', async () => {
    start('family')
    await Promise.all(Array.from({ length: 20 }, (_, n) => call('echo', { text: String(n) })))
    const before = pids()
    await call('echo', { text: 'x' })
    expect(pids()).toEqual(before)
  })
})
