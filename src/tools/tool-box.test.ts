import { expect, test, vi } from 'vitest'
import type { Principal } from '../contract/principal.ts'
import type { ServerTool, ToolSource } from '../contract/server-tool.ts'
import { SourceToolBox } from './tool-box.ts'

const tool = (name: string, fields: Partial<ServerTool> = {}): ServerTool => ({
  name,
  kind: 'python',
  description: '',
  parameters: {},
  run: async () => ({ text: '', isError: false }),
  ...fields,
})

const source = (...tools: readonly ServerTool[]): ToolSource => ({
  list: async () => ({ tools, absent: [] }),
  close: async () => undefined,
})

const key = (fields: Partial<Principal> = {}): Principal => ({ id: 'k', scopes: new Set(['inference', 'tools']), ...fields })

const listFor = (box: SourceToolBox, principal: Principal) =>
  box.list({ principal, mcpServers: [], signal: new AbortController().signal })

const github = { server: 'github', name: 'search' }
const box = new SourceToolBox([source(tool('python'), tool('web_search')), source(tool('github__search', { mcp: github }))])

test('a key gets the tools of all sources, in their order', async () => {
  const { tools, absent } = await listFor(box, key())
  expect(tools.map(({ name }) => name)).toEqual(['python', 'web_search', 'github__search'])
  expect(absent).toEqual([])
})

test.each<[string, Partial<Principal>]>([
  ['without the scope', { scopes: new Set(['inference']) }],
  ['for monitoring', { scopes: new Set(['metrics']) }],
])('a key %s gets none, and hears which scope it lacks', async (_, fields) => {
  const { tools, absent } = await listFor(box, key(fields))
  expect(tools).toEqual([])
  expect(absent.map(({ name }) => name)).toEqual(['python', 'web_search', 'github__search'])
  for (const { why } of absent) expect(why).toContain("lacks the scope 'tools'")
})

test('an operator needs no scope of its own for tools', async () => {
  expect((await listFor(box, key({ scopes: new Set(['admin']) }))).tools).toHaveLength(3)
})

test.each([
  [['web_search'], ['web_search']],
  [['github'], ['github__search']],
  [
    ['github__search', 'python'],
    ['python', 'github__search'],
  ],
  [['nothing'], []],
])('a key with the tools %j gets %j', async (names, expected) => {
  const { tools, absent } = await listFor(box, key({ tools: names }))
  expect(tools.map(({ name }) => name)).toEqual(expected)
  expect(absent).toHaveLength(3 - expected.length)
  for (const { why } of absent) expect(why).toContain('may not use it')
})

test('of two tools with one name, the first counts', async () => {
  const first = tool('python')
  expect((await listFor(new SourceToolBox([source(first), source(tool('python'))]), key())).tools).toEqual([first])
})

test('what a source says is absent stays absent', async () => {
  const absent = [{ name: 'terminal', why: 'bubblewrap is not installed' }]
  const broken: ToolSource = { list: () => ({ tools: [], absent }), close: async () => undefined }
  expect(await listFor(new SourceToolBox([broken]), key())).toMatchObject({ tools: [], absent })
})

test('the names of what the configuration turns on, as far as a key may use it', () => {
  const named = new SourceToolBox([], ['python', 'github'])
  expect(named.namesFor(key())).toEqual(new Set(['python', 'github']))
  expect(named.namesFor(key({ tools: ['github'] }))).toEqual(new Set(['github']))
  expect(named.namesFor(key({ tools: ['github__search'] }))).toEqual(new Set(['github']))
  expect(named.namesFor(key({ scopes: new Set(['inference']) }))).toBeUndefined()
  expect(new SourceToolBox([]).namesFor(key())).toBeUndefined()
})

test('what sources began for a request ends with it, and when another source refuses the request', async () => {
  const end = vi.fn(async () => undefined)
  const begins: ToolSource = { list: async () => ({ tools: [], absent: [], end }), close: async () => undefined }
  const refuses: ToolSource = { list: () => Promise.reject(new Error('not allowed')), close: async () => undefined }
  await (await listFor(new SourceToolBox([begins, source()]), key())).end?.()
  expect(end).toHaveBeenCalledTimes(1)
  await expect(listFor(new SourceToolBox([begins, refuses]), key())).rejects.toThrow('not allowed')
  expect(end).toHaveBeenCalledTimes(2)
})
