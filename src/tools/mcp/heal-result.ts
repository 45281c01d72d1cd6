import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { isObject } from '../../base/json.ts'
import { headerFault } from './header-fault.ts'
import { healSchema } from './heal-schema.ts'
import { type Members, withoutNulls } from './members.ts'

/** A list of tools while it arrives. */
export type Listing = {
  pages: number
  /** What was left out, in words that continue a sentence about the server. */
  left: string[]
}

const maxPages = 16
/** How many of them are named. */
const maxNamed = 20

/**
 * Repairs a server's result before it is validated as a whole, where one bad part would cost everything: many servers write null for
 * missing members, and a tool that cannot be repaired is left out. `mirrors`: arguments may become headers, through annotations that must
 * be valid.
 */
export function healResult(message: JSONRPCMessage, listing: Listing, mirrors: boolean): void {
  if (!('result' in message)) return
  const result: Members = withoutNulls(message.result)
  if (Array.isArray(result.tools)) healList(result, listing, mirrors)
  else if (Array.isArray(result.content)) result.content = result.content.map(healBlock)
  else if (isObject(result.capabilities)) {
    // Some servers forget to announce that they have tools.
    result.capabilities = { tools: {}, ...withoutNulls(result.capabilities) }
    if (isObject(result.serverInfo)) result.serverInfo = withoutNulls(result.serverInfo)
  }
  message.result = result
}

function healList(result: Members, listing: Listing, mirrors: boolean): void {
  const tools = result.tools as readonly unknown[]
  // We decide how long a list is valid.
  Object.assign(result, { ttlMs: 0, cacheScope: 'private' })
  result.tools = tools.flatMap((tool) => {
    const healed = healTool(tool, mirrors)
    if (typeof healed !== 'string') return [healed]
    leaveOut(listing, healed)
    return []
  })
  listing.pages += 1
  if (typeof result.nextCursor === 'string' && result.nextCursor !== '') {
    if (listing.pages < maxPages) return
    leaveOut(listing, `its list of tools has more than ${maxPages} pages: the others are not read`)
  }
  listing.pages = 0
  delete result.nextCursor
}

function leaveOut({ left }: Listing, why: string): void {
  if (left.length < maxNamed) left.push(why)
  else if (left.length === maxNamed) left.push('more of it is left out')
}

/** The members of a tool that are used; or why it is left out. */
function healTool(tool: unknown, mirrors: boolean): Members | string {
  if (!isObject(tool) || typeof tool.name !== 'string') return 'a tool has no name'
  const { name, description } = tool
  const schema = healSchema(tool.inputSchema)
  const fault = typeof schema === 'string' ? schema : mirrors ? headerFault(schema) : undefined
  if (fault !== undefined) return `the schema of '${name.slice(0, 80)}' ${fault}`
  return { name, inputSchema: schema, ...(typeof description === 'string' && { description }) }
}

function healBlock(block: unknown): unknown {
  if (!isObject(block)) return block
  const { resource, ...others } = withoutNulls(block)
  return { ...others, ...(resource !== undefined && { resource: isObject(resource) ? withoutNulls(resource) : resource }) }
}
