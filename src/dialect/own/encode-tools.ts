import type { z } from 'zod'
import type { ToolListing } from '../../contract/server-tool.ts'
import type { serverTools } from './replies.ts'

/** The reply of `GET /api/tools`. `names`: the configured tools and MCP servers that the caller may use; others do not exist for it. */
export function encodeTools({ tools, absent }: ToolListing, names: ReadonlySet<string>): z.input<typeof serverTools> {
  return {
    tools: tools.map(({ name, kind, mcp, description, needsApproval }) => ({
      name,
      kind,
      ...(mcp !== undefined && { server: mcp.server, server_tool: mcp.name }),
      description,
      needs_approval: needsApproval === true,
    })),
    absent: absent.filter(({ name }) => names.has(name)).map(({ name, why }) => ({ name, why })),
  }
}
