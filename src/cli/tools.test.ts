import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type LoadedConfig, loadConfig } from '../config/load.ts'
import { tools } from './tools.ts'

const program = fileURLToPath(new URL('../../test/support/mcp/program.mjs', import.meta.url))
let folder: string
let printed: string[]
let complained: string[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dragoman-tools-'))
  printed = []
  complained = []
  vi.spyOn(console, 'log').mockImplementation((line: string) => void printed.push(line))
  vi.spyOn(console, 'error').mockImplementation((line: string) => void complained.push(line))
})

afterEach(() => {
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true, force: true })
})

function configuration(section: unknown): Promise<LoadedConfig> {
  const config = join(folder, 'dragoman.json')
  writeFileSync(config, JSON.stringify({ tools: section }))
  return loadConfig({ flags: { config }, env: {}, cwd: folder, userHome: folder })
}

const server = (mode = 'good', more: object = {}) => ({ command: process.execPath, args: [program, mode], ...more })

test('tools are listed, with what models read of them, and whether calls need approval', async () => {
  const config = await configuration({ mcp: { docs: server('good', { allowedTools: ['echo'], approval: 'always' }) } })
  expect(await tools(config, {})).toBe(0)
  expect(printed.join('\n')).toMatch(/^TOOL +KIND +APPROVAL +DESCRIPTION\ndocs__echo +mcp +yes +the tool echo$/)
  expect(complained).toEqual([])
})

test('what is absent is named with its reason, and what programs complain about is shown', async () => {
  const config = await configuration({
    webSearch: { kind: 'brave', apiKeyEnv: 'NO_SUCH_KEY' },
    mcp: { broken: server('exit'), noisy: server('noisy', { allowedTools: ['echo'] }) },
  })
  expect(await tools(config, {})).toBe(1)
  expect(complained).toContain('noisy: starting')
  expect(complained).toContain(
    'absent: web_search: the environment variable NO_SUCH_KEY (tools.webSearch.apiKeyEnv) is not set; start the server with it',
  )
  expect(complained).toContain('absent: broken: the MCP server cannot be used: it ended with exit code 3')
})

test.each([
  ['JSON', '{"text": "hello"}'],
  ['the text that it takes', 'hello'],
])('a tool is tried with %s', async (_, input) => {
  expect(await tools(await configuration({ mcp: { docs: server() } }), { name: 'docs__echo', input })).toBe(0)
  expect(printed).toEqual(['hello'])
})

test('a tool that fails is a failure', async () => {
  expect(await tools(await configuration({ mcp: { docs: server() } }), { name: 'docs__die' })).toBe(1)
  expect(printed).toEqual(['The tool failed: it ended with exit code 7. The call may still have been carried out.'])
})

test.each([
  ['docs__nope', 'there is no such tool; there are: docs__echo'],
  ['gone__tool', 'the MCP server cannot be used: it ended with exit code 3'],
])('%s cannot be tried, and the reason is in the error', async (name, why) => {
  const config = await configuration({ mcp: { docs: server('good', { allowedTools: ['echo'] }), gone: server('exit') } })
  await expect(tools(config, { name })).rejects.toThrow(why)
})

test('without tools in the configuration, the list says so', async () => {
  expect(await tools(await configuration({}), {})).toBe(0)
  expect(printed[0]).toContain('the configuration turns no tools on')
})
