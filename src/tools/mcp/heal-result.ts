import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import type { JsonObject } from '../../contract/request.ts'
import { headerFault } from './header-fault.ts'

/** A list of tools while it comes in. */
export type Listing = {
  pages: number
  /** What was left out, in words that continue a sentence about the server. */
  left: string[]
}

type Members = Record<string, unknown>

const maxPages = 16
const maxSchemaLength = 32_768
/** What validates and reads schemas calls itself for each level. */
const maxSchemaDepth = 64

/**
 * Repairs a server's result before it is validated as a whole, where one bad part would cost all: many servers write null for what they do
 * not have, and a tool that cannot be repaired is left out. `mirrors`: arguments may become headers, by annotations that have to be good.
 */
export function healResult(message: JSONRPCMessage, listing: Listing, mirrors: boolean): void {
  if (!('result' in message)) return
  const result: Members = withoutNulls(message.result)
  if (Array.isArray(result.tools)) healList(result, listing, mirrors)
  else if (Array.isArray(result.content)) result.content = result.content.map(healBlock)
  else if (isObject(result.capabilities)) {
    // Some servers forget to say that they have tools.
    result.capabilities = { tools: {}, ...withoutNulls(result.capabilities) }
    if (isObject(result.serverInfo)) result.serverInfo = withoutNulls(result.serverInfo)
  }
  message.result = result
}

function healList(result: Members, listing: Listing, mirrors: boolean): void {
  const tools = result.tools as readonly unknown[]
  // How long a list is good is decided here.
  Object.assign(result, { ttlMs: 0, cacheScope: 'private' })
  result.tools = tools.flatMap((tool) => {
    const healed = healTool(tool, mirrors)
    if (typeof healed !== 'string') return [healed]
    listing.left.push(healed)
    return []
  })
  listing.pages += 1
  if (typeof result.nextCursor === 'string' && result.nextCursor !== '') {
    if (listing.pages < maxPages) return
    listing.left.push(`its list of tools has more than ${maxPages} pages: the others are not read`)
  }
  listing.pages = 0
  delete result.nextCursor
}

/** What is used of a tool; or why it is left out. */
function healTool(tool: unknown, mirrors: boolean): Members | string {
  if (!isObject(tool) || typeof tool.name !== 'string') return 'a tool has no name'
  const { name, description } = tool
  const schema = healSchema(tool.inputSchema)
  const fault = typeof schema === 'string' ? schema : mirrors ? headerFault(schema) : undefined
  if (fault !== undefined) return `the schema of '${name.slice(0, 80)}' ${fault}`
  return { name, inputSchema: schema, ...(typeof description === 'string' && { description }) }
}

/** A schema of an object; or what is wrong with it. */
function healSchema(schema: unknown): JsonObject | string {
  // PHP writes an empty object as a list.
  if (isNothing(schema) || schema === true) return { type: 'object' }
  if (!isObject(schema)) return 'is not an object'
  if (isDeeper(schema, maxSchemaDepth)) return `has more than ${maxSchemaDepth} levels`
  const { length } = JSON.stringify(schema)
  if (length > maxSchemaLength) return `has ${length} characters, more than ${maxSchemaLength}`
  const { $schema, type = 'object', properties, required, ...others } = withoutNulls(schema)
  if (type !== 'object' && !(Array.isArray(type) && type.includes('object'))) return 'is not one of an object'
  if (!isNothing(properties) && !isObject(properties)) return 'has properties that are not an object'
  return {
    ...(typeof $schema === 'string' && { $schema }),
    ...(others as JsonObject),
    type: 'object',
    ...(isObject(properties) && { properties: properties as JsonObject }),
    ...(Array.isArray(required) && { required: required.filter((key) => typeof key === 'string') }),
  }
}

function healBlock(block: unknown): unknown {
  if (!isObject(block)) return block
  const { resource, ...others } = withoutNulls(block)
  return { ...others, ...(resource !== undefined && { resource: isObject(resource) ? withoutNulls(resource) : resource }) }
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0)
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1))
}

function withoutNulls(members: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null))
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
