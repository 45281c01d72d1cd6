import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../src/contract/request.ts'
import type { ToolListing, ToolOutcome, ToolSource } from '../../../src/contract/server-tool.ts'
import type { McpTarget } from '../../../src/tools/mcp/connection.ts'
import { createMcpTools } from '../../../src/tools/mcp/mcp-tools.ts'
import { installedFrom } from '../../support/process/test-tools.ts'

const packages = installedFrom('mcp-servers', new URL('../../mcp/package.json', import.meta.url))
const pythonPackages = installedFrom('mcp-python', new URL('../../mcp/requirements.txt', import.meta.url))
const everything = join(packages, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')
const pythonServer = fileURLToPath(new URL('../../mcp/python_server.py', import.meta.url))
const hint = (is: boolean) => (is ? '' : ' (skipped: install it with `npm run mcp-servers`)')
const hasEverything = existsSync(packages)
const hasPython = existsSync(pythonPackages)

const children: ChildProcess[] = []
let source: ToolSource | undefined
afterEach(async () => {
  await source?.close()
  source = undefined
})
afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Starts a server that listens, and waits until it does. */
async function listening(command: string, args: readonly string[], env: Record<string, string>, port: number): Promise<void> {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  children.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => (output += piece.toString()))
  const isUp = () =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    )
  while (!(await isUp())) {
    if (child.exitCode !== null) throw new Error(`it ended: ${output}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

const signal = new AbortController().signal
async function connect(target: McpTarget): Promise<ToolListing> {
  source = createMcpTools({
    servers: new Map([['it', { target, needsApproval: false }]]),
    allowedHosts: [],
    guard: { allowed: [] },
    limits: { answerMs: 20_000 },
  })
  return source.list({ principal: { id: 'k', scopes: new Set(['tools']) }, names: ['it'], mcpServers: [], signal })
}

function call({ tools }: ToolListing, name: string, args: JsonObject = {}, signalOfCall = signal): Promise<ToolOutcome> {
  const tool = tools.find(({ mcp }) => mcp?.name === name)
  if (tool === undefined) throw new Error(`there is no tool ${name}: ${tools.map((found) => found.name).join(', ')}`)
  return tool.run({ arguments: args, session: { principalId: 'k', id: 's' }, signal: signalOfCall })
}

async function cancelled(listing: ToolListing, name: string, args: JsonObject): Promise<void> {
  const cancel = new AbortController()
  const running = call(listing, name, args, cancel.signal)
  cancel.abort()
  expect(await running).toEqual({ text: 'The call was cancelled.', isError: true })
}

const program = (args: readonly string[]): McpTarget => ({ type: 'program', command: process.execPath, args, env: {} })

describe.runIf(hasEverything)(`the reference server${hint(hasEverything)}`, () => {
  const check = async (listing: ToolListing) => {
    expect(listing.absent).toEqual([])
    expect(await call(listing, 'echo', { message: 'hello' })).toEqual({ text: 'Echo: hello', isError: false })
    expect((await call(listing, 'get-sum', { a: 2, b: 3 })).text).toContain('5')
    expect((await call(listing, 'get-tiny-image')).text).toMatch(/\(image, image\/png, \d+ bytes\)/)
    expect((await call(listing, 'get-resource-links', { count: 2 })).text).toMatch(/\(resource .+: demo:\/\/resource/)
    expect((await call(listing, 'get-resource-reference', { resourceType: 'Text', resourceId: 1 })).text).toContain(
      '(resource demo://',
    )
    expect((await call(listing, 'get-structured-content', { location: 'New York' })).text).toContain('temperature')
    expect(await call(listing, 'get-sum', { a: 'two' })).toMatchObject({ isError: true, text: expect.stringMatching(/number/i) })
    await cancelled(listing, 'trigger-long-running-operation', { duration: 60, steps: 5 })
    expect(await call(listing, 'echo', { message: 'again' })).toMatchObject({ text: 'Echo: again' })
  }

  test('works as a program', async () => check(await connect(program([everything, 'stdio']))))

  test.each([
    ['streamableHttp', 'mcp'],
    ['sse', 'sse'],
  ])('works over %s', async (transport, path) => {
    const port = await freePort()
    await listening(process.execPath, [everything, transport], { PORT: String(port) }, port)
    await check(await connect({ type: 'url', url: `http://127.0.0.1:${port}/${path}`, headers: {} }))
  })
})

describe.runIf(hasPython)(`a server of the Python SDK${hint(hasPython)}`, () => {
  const env = { PYTHONPATH: pythonPackages }
  const check = async (listing: ToolListing) => {
    expect(listing.tools.map(({ name }) => name)).toEqual(['it__add', 'it__picture', 'it__wait', 'it__fail'])
    expect(await call(listing, 'add', { a: 2, b: 3 })).toEqual({ text: '5', isError: false })
    expect((await call(listing, 'picture')).text).toBe('(image, image/png, 4 bytes)')
    expect(await call(listing, 'fail')).toMatchObject({ isError: true, text: expect.stringContaining('fail') })
    await cancelled(listing, 'wait', {})
    expect(await call(listing, 'add', { a: 1, b: 1 })).toMatchObject({ text: '2' })
  }

  test('works as a program', async () => {
    await check(await connect({ type: 'program', command: 'python3', args: [pythonServer, 'stdio'], env }))
  })

  test.each([
    ['streamable-http', 'mcp'],
    ['sse', 'sse'],
  ])('works over %s', async (transport, path) => {
    const port = await freePort()
    await listening('python3', [pythonServer, transport, String(port)], env, port)
    await check(await connect({ type: 'url', url: `http://127.0.0.1:${port}/${path}`, headers: {} }))
  })
})
