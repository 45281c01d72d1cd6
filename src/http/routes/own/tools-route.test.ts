import { expect, test } from 'vitest'
import { openTestServer } from '../../../../test/support/http/test-server.ts'
import { hashApiKey } from '../../../app/keys/made-keys.ts'
import type { Scope } from '../../../contract/principal.ts'
import type { ServerTool } from '../../../contract/server-tool.ts'
import { SourceToolBox } from '../../../tools/tool-box.ts'

const tool = (name: string, more: Partial<ServerTool> = {}): ServerTool => ({
  name,
  kind: 'mcp',
  description: `the tool ${name}`,
  parameters: {},
  run: async () => ({ text: '', isError: false }),
  ...more,
})
const tools = [
  tool('web_search', { kind: 'web-search' }),
  tool('docs__find', { mcp: { server: 'docs', name: 'find' }, needsApproval: true }),
  tool('docs__read', { mcp: { server: 'docs', name: 'read' } }),
]
const absent = [
  { name: 'python', why: 'install bubblewrap' },
  { name: 'git', why: 'it ended' },
]
const box = new SourceToolBox(
  [{ list: () => ({ tools, absent }), close: async () => undefined }],
  ['web_search', 'python', 'docs', 'git'],
)

const ask = async (
  key: { readonly scopes: readonly Scope[]; readonly tools?: readonly string[] },
  more: object = { tools: box },
) => {
  const { scopes, ...rest } = key
  const apiKeys = [{ ...rest, name: 'k', hash: hashApiKey('sk-k'), scopes: new Set(scopes) }]
  const { app } = openTestServer({ auth: { apiKeys }, ...more })
  const reply = await app.inject({ url: '/api/tools', headers: { authorization: 'Bearer sk-k' } })
  return { status: reply.statusCode, ...reply.json() }
}

test('the tools of the server are listed for a key, with those that are absent', async () => {
  expect(await ask({ scopes: ['tools'] })).toEqual({
    status: 200,
    tools: [
      { name: 'web_search', kind: 'web-search', description: 'the tool web_search', needs_approval: false },
      {
        name: 'docs__find',
        kind: 'mcp',
        server: 'docs',
        server_tool: 'find',
        description: 'the tool docs__find',
        needs_approval: true,
      },
      {
        name: 'docs__read',
        kind: 'mcp',
        server: 'docs',
        server_tool: 'read',
        description: 'the tool docs__read',
        needs_approval: false,
      },
    ],
    absent,
    own_server_hosts: [],
  })
})

test('a key sees nothing of what it may not use', async () => {
  const { tools: seen, absent: named } = await ask({ scopes: ['tools'], tools: ['docs__read', 'git'] })
  expect([seen.map(({ name }: ServerTool) => name), named]).toEqual([['docs__read'], [{ name: 'git', why: 'it ended' }]])
  expect(await ask({ scopes: ['inference'] })).toMatchObject({ status: 403 })
})

test('a server without tools has an empty list', async () => {
  expect(await ask({ scopes: ['tools'] }, {})).toEqual({ status: 200, tools: [], absent: [], own_server_hosts: [] })
})
