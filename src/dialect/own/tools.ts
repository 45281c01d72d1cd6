import type { z } from 'zod'
import type { NameOf } from '../../contract/field.ts'
import type { McpServerUse } from '../../contract/request.ts'
import type { ToolListing } from '../../contract/server-tool.ts'
import { used } from '../wire/field-table.ts'
import { looseObject } from '../wire/first-fault.ts'
import { mcpServers, nameInMcpServer, readMcpServers } from '../wire/server-tools/mcp-servers.ts'
import { bodyReader } from '../wire/validate.ts'
import type { serverTools } from './replies.ts'

export const ownServersSchema = looseObject({ mcp_servers: mcpServers.min(1) })
export const ownServersFields = [
  used('mcp_servers', 'required: the servers, each with `name`, `url` and, where it wants one, `authorization_token`'),
]
const readBody = bodyReader(ownServersSchema, ownServersFields)

type OwnServers = { readonly servers: readonly McpServerUse[]; readonly ignored: readonly string[]; readonly nameOf: NameOf }

/** The body of `POST /api/tools`. */
export function decodeOwnServers(body: unknown): OwnServers {
  const { wire, ignored } = readBody(body)
  const read = readMcpServers(wire.mcp_servers)
  return {
    servers: read.map(({ use }) => use),
    ignored,
    nameOf: (path) => nameInMcpServer(read[Number(path[2])]?.path, path),
  }
}

/** The tools for a caller. `names`: the tools and MCP servers that it may use, or has named; others do not exist for it. */
export function encodeTools(
  { tools, absent, hostsForRequests = [] }: ToolListing,
  names: ReadonlySet<string>,
): z.input<typeof serverTools> {
  return {
    tools: tools.map(({ name, kind, mcp, description, needsApproval }) => ({
      name,
      kind,
      ...(mcp !== undefined && { server: mcp.server, server_tool: mcp.name }),
      description,
      needs_approval: needsApproval === true,
    })),
    absent: absent.filter(({ name }) => names.has(name)).map(({ name, why }) => ({ name, why })),
    own_server_hosts: hostsForRequests,
  }
}
