import type { Logger } from 'pino'
import type { LoadedConfig } from '../../config/load.ts'
import type { McpServerConfig } from '../../config/sections/tools-schema.ts'
import type { ToolSource } from '../../contract/server-tool.ts'
import { parseBlock } from '../../media/address.ts'
import type { Guard } from '../../media/guarded-connect.ts'
import { type ConfiguredServer, createMcpTools, type McpToolsOptions } from '../../tools/mcp/mcp-tools.ts'
import { createWebSearch } from '../../tools/web/web-search.ts'

type Config = Pick<LoadedConfig, 'tools' | 'media'>
type Environment = Readonly<Record<string, string | undefined>>

/** Search and pages; undefined if the configuration does not turn them on. */
export function createWebTools({ tools, media }: Config, env: Environment): ToolSource | undefined {
  const { webSearch } = tools
  if (webSearch === undefined) return undefined
  const { kind, url, apiKeyEnv, results } = webSearch
  const { value: apiKey, missing } = read(apiKeyEnv, 'tools.webSearch.apiKeyEnv', env)
  return createWebSearch({ service: { kind, url, apiKey }, results, guard: guardOf(media), missing })
}

/** MCP servers: those of the configuration, and those that requests name, which it refuses where they may not. */
export function createMcpSource({ tools, media }: Config, { env, log, onLine }: McpReports): ToolSource {
  const { mcp, allowRequestServers } = tools
  const servers = new Map(Object.entries(mcp).map(([label, server]) => [label, configured(label, server, env)] as const))
  return createMcpTools({
    servers,
    allowedHosts: allowRequestServers,
    guard: guardOf(media),
    onFailure: (server, reason) => log.warn({ server, reason }, 'an MCP server cannot be used'),
    ...(onLine !== undefined && { onLine }),
  })
}

type McpReports = { readonly env: Environment; readonly log: Pick<Logger, 'warn'>; readonly onLine: McpToolsOptions['onLine'] }

function configured(label: string, server: McpServerConfig, env: Environment): ConfiguredServer {
  const terms = { allowedTools: server.allowedTools, needsApproval: server.approval === 'always' }
  if ('command' in server) {
    const { command, args, env: ofProgram } = server
    return { target: { type: 'program', command, args, env: ofProgram }, ...terms }
  }
  const { value: token, missing } = read(server.tokenEnv, `tools.mcp.${label}.tokenEnv`, env)
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return { target: { type: 'url', url: server.url, headers }, ...terms, missing }
}

/** The value of an environment variable, or why it is unknown. */
function read(
  name: string | undefined,
  setting: string,
  env: Environment,
): { readonly value?: string | undefined; readonly missing?: string } {
  if (name === undefined) return {}
  const value = env[name]
  if (value !== undefined && value !== '') return { value }
  return { missing: `the environment variable ${name} (${setting}) is not set; start the server with it` }
}

/** The allowed addresses of pages, and of MCP servers in requests: public ones, and those that the operator allows for media. */
function guardOf({ allowedAddresses }: Config['media']): Guard {
  return { allowed: allowedAddresses.map(parseBlock).filter((block) => block !== undefined) }
}
