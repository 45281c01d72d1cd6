import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'

const host = '127.0.0.3'
let app: RunningApp
beforeAll(async () => {
  app = await startApp({
    models: [{ id: 'm', engine: 'fake', script: 'from-request' }],
    tools: { allowRequestServers: [host] },
  })
})
afterAll(() => app?.close())

const url = `http://${host}:8080/mcp`
const messages = [{ role: 'user', content: 'hi' }]
const mcp_servers = [{ type: 'url', name: 'own', url }]
const anthropic = { messages, max_tokens: 10, mcp_servers, tools: [{ type: 'mcp_toolset', mcp_server_name: 'own' }] }
const tools = [{ type: 'mcp', server_label: 'own', server_url: url, require_approval: 'never' }]

const chat = { messages, enable_tools: true, enabled_tools: [], mcp_servers: [mcp_servers[0]] }

test.each<[string, string, object, string]>([
  ['chat completions', 'chat/completions', chat, 'mcp_servers[0].url'],
  ['streamed chat completions', 'chat/completions', { ...chat, stream: true }, 'mcp_servers[0].url'],
  ['Messages', 'messages', anthropic, 'mcp_servers[0].url'],
  ['streamed Messages', 'messages', { ...anthropic, stream: true }, 'mcp_servers[0].url'],
  ['counted Messages', 'messages/count_tokens', anthropic, 'mcp_servers[0].url'],
  ['Responses', 'responses', { input: 'hi', tools }, 'tools[0].server_url'],
  ['streamed Responses', 'responses', { input: 'hi', tools, stream: true }, 'tools[0].server_url'],
])('in %s, an address of an MCP server that is not public is a 400 that names the field', async (_, path, body, name) => {
  const response = await fetch(`${app.url}/v1/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', 'anthropic-beta': 'mcp-client-2025-11-20' },
    body: JSON.stringify({ model: 'm', ...body }),
  })
  const { error } = (await response.json()) as { error: { type: string; message: string } }
  expect([response.status, error.type]).toEqual([400, 'invalid_request_error'])
  expect(error.message).toContain(`${name} is not at a public address`)
})

test('where the operator allows no hosts, each protocol refuses an address by name', async () => {
  const other = await startApp({
    models: [{ id: 'm', engine: 'fake', script: 'from-request' }],
    tools: { webSearch: { kind: 'searxng', url: 'http://127.0.0.1:9/' } },
  })
  try {
    for (const [path, body] of [
      ['v1/chat/completions', chat],
      ['v1/messages', anthropic],
      ['v1/responses', { input: 'hi', tools }],
      ['api/tools', { mcp_servers }],
    ] as const) {
      const response = await fetch(`${other.url}/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
        body: JSON.stringify(path === 'api/tools' ? body : { model: 'm', ...body }),
      })
      const { error } = (await response.json()) as { error: { message: string } }
      expect([path, response.status]).toEqual([path, 400])
      expect(error.message).toContain('this server uses only MCP servers of its configuration (tools.allowRequestServers)')
    }
  } finally {
    await other.close()
  }
})
