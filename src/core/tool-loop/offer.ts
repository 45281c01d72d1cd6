import { AppError } from '../../contract/errors.ts'
import type { EventOf } from '../../contract/event.ts'
import { type CanonicalPath, field } from '../../contract/field.ts'
import type { Principal } from '../../contract/principal.ts'
import type { McpServerUse, Tool, ToolUse } from '../../contract/request.ts'
import type { ServerTool, ToolListing } from '../../contract/server-tool.ts'

/** The tools for a request, and the reports of its reply about the MCP servers that it names. */
export type Offer = {
  readonly tools: ReadonlyMap<string, ServerTool>
  readonly listings: readonly EventOf<'mcp-tools'>[]
}

/** Throws `forbidden` for a key that may not use the server's tools. */
export function requireToolScope({ scopes }: Principal): void {
  if (scopes.has('tools') || scopes.has('admin')) return
  const message = `${field('toolUse')} needs a key with the scope 'tools', which this one lacks; send a key that has it in server.apiKeys`
  throw new AppError('forbidden', message, { at: ['toolUse'] })
}

/** Throws `invalid-request` for an unknown name, an unusable tool, and one that the caller declares too. */
export function chooseTools(use: ToolUse, listing: ToolListing, declared: readonly Tool[]): Offer {
  const tools = new Map<string, ServerTool>()
  const add = (tool: ServerTool) => tools.set(tool.name, tool)
  if (use.names === undefined) {
    if (listing.tools.length === 0 && (use.mcpServers ?? []).length === 0) throw nothingThere(listing)
    for (const tool of listing.tools) add(tool)
  } else for (const [index, name] of use.names.entries()) for (const tool of named(name, listing, index)) add(tool)
  const listings = (use.mcpServers ?? []).flatMap((server, index) => {
    const found = toolsOf(server, listing)
    const why = listing.absent.find(({ name }) => name === server.label)?.why
    if (found.length === 0 && why === undefined && server.url === undefined && !hasServer(listing, server.label))
      throw unknownServer(server, listing, index)
    for (const tool of found) add(tool)
    const error = found.length === 0 ? why : undefined
    if (error !== undefined && use.showsServers !== true) throw unlisted(server, error, index)
    if (server.isListed === true && error === undefined) return []
    const listed = found.map(({ name, mcp, description, parameters }) => ({ name: mcp?.name ?? name, description, parameters }))
    const shown = { type: 'mcp-tools' as const, choice: 0, server: server.label, tools: listed }
    return [error === undefined ? shown : { ...shown, error }]
  })
  for (const [index, { name }] of declared.entries()) {
    if (!tools.has(name)) continue
    const message = `${field('prompt', 'tools', index)} is named '${name}', as a tool of the server: rename it, or leave the server's out`
    throw new AppError('invalid-request', message, { at: ['prompt', 'tools', index] })
  }
  return { tools, listings }
}

function named(name: string, { tools, absent, others = [] }: ToolListing, index: number): readonly ServerTool[] {
  const found = tools.filter((tool) => tool.name === name || tool.mcp?.server === name)
  if (found.length > 0) return found
  const at: CanonicalPath = ['toolUse', 'names', index]
  const why = absent.find((tool) => tool.name === name)?.why
  if (why !== undefined) throw new AppError('invalid-request', `${field(...at)}: '${name}' cannot be used: ${why}`, { at })
  const known = [...tools.map((tool) => tool.name), ...others]
  const there = known.length === 0 ? 'there are none' : `there are: ${known.join(', ')}`
  throw new AppError('invalid-request', `${field(...at)}: '${name}' is not a tool of this server; ${there}`, { at })
}

function nothingThere({ absent }: ToolListing): AppError {
  const why =
    absent.length === 0
      ? 'its configuration turns none on (`tools`)'
      : absent.map(({ name, why }) => `${name}: ${why}`).join('; ')
  return new AppError('invalid-request', `${field('toolUse')}: this server has no tools that can be used: ${why}`, {
    at: ['toolUse'],
  })
}

function hasServer({ tools }: ToolListing, label: string): boolean {
  return tools.some(({ mcp }) => mcp?.server === label)
}

function unknownServer({ label }: McpServerUse, { tools }: ToolListing, index: number): AppError {
  const at = ['toolUse', 'mcpServers', index, 'label']
  const labels = [...new Set(tools.flatMap(({ mcp }) => (mcp === undefined ? [] : [mcp.server])))]
  const there = labels.length === 0 ? 'there are none' : `there are: ${labels.join(', ')}`
  return new AppError('invalid-request', `${field(...at)}: '${label}' is not an MCP server of this server; ${there}`, { at })
}

function unlisted({ label }: McpServerUse, why: string, index: number): AppError {
  const at = ['toolUse', 'mcpServers', index, 'url']
  return new AppError('upstream-failed', `the MCP server '${label}' (${field(...at)}) did not list its tools: ${why}`, { at })
}

/** Adds the request's own terms for approvals to the operator's. */
function toolsOf({ label, allowedTools, approval }: McpServerUse, { tools }: ToolListing): readonly ServerTool[] {
  return tools.flatMap((tool) => {
    if (tool.mcp?.server !== label) return []
    const { name } = tool.mcp
    if (allowedTools !== undefined && !allowedTools.includes(name)) return []
    const asks =
      approval === 'all' ||
      (approval !== undefined && ('tools' in approval ? approval.tools.includes(name) : !approval.allExcept.includes(name)))
    return [asks ? withApproval(tool) : tool]
  })
}

function withApproval(tool: ServerTool): ServerTool {
  const { name, kind, mcp, description, parameters, textParameter } = tool
  return {
    name,
    kind,
    description,
    parameters,
    ...(mcp !== undefined && { mcp }),
    ...(textParameter !== undefined && { textParameter }),
    needsApproval: true,
    // A tool may be an object of a class, so `run` is called on it.
    run: (call) => tool.run(call),
  }
}
