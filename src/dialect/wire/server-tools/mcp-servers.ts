import { z } from 'zod'
import type { CanonicalPath } from '../../../contract/field.ts'
import type { McpServerUse } from '../../../contract/request.ts'
import { list, looseObject } from '../first-fault.ts'
import { invalid } from '../invalid.ts'
import { preview } from '../preview.ts'
import { flag, nonEmptyText, text } from '../wire-types.ts'

const mcpServer = looseObject({
  type: z.literal('url').optional(),
  name: nonEmptyText,
  /** Absent: a server that the operator has configured. */
  url: nonEmptyText.nullish(),
  authorization_token: text,
  tool_configuration: looseObject({
    enabled: flag,
    allowed_tools: list(nonEmptyText, { error: 'an array of names' }).nullish(),
  }).nullish(),
})

/** The MCP servers of a request, in the form of Anthropic's connector. */
export const mcpServers = list(mcpServer, { error: 'an array of MCP servers' })
type WireServers = z.output<typeof mcpServers> | null | undefined

/** Those that are switched on, with their places in the request. Throws for two of one name. */
export function readMcpServers(servers: WireServers): readonly { readonly use: McpServerUse; readonly path: string }[] {
  const seen = new Set<string>()
  return (servers ?? []).flatMap(({ name, url, authorization_token: token, tool_configuration: configuration }, index) => {
    const path = `mcp_servers[${index}]`
    if (configuration?.enabled === false) return []
    if (seen.has(name)) throw invalid(`${path}.name`, `${path}.name ${preview(name)} is declared twice: names must differ`)
    seen.add(name)
    const allowedTools = configuration?.allowed_tools ?? undefined
    const headers = typeof token === 'string' && { headers: { authorization: `Bearer ${token}` } }
    const address = typeof url === 'string' && { url, ...headers }
    return [{ use: { label: name, ...address, ...(allowedTools !== undefined && { allowedTools }) }, path }]
  })
}

/** The caller's name for a path that begins with `toolUse.mcpServers`, of a server at `place`. */
export function nameInMcpServer(place: string | undefined, [, , , member]: CanonicalPath): string {
  const field = { url: '.url', label: '.name' }[String(member)] ?? ''
  return (place ?? 'mcp_servers') + field
}
