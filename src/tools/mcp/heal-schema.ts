import { isObject } from '../../base/json.ts'
import type { JsonObject } from '../../contract/request.ts'
import { type Members, withoutNulls } from './members.ts'

const maxLength = 32_768
/** Validators and readers of schemas recurse at each level. */
const maxDepth = 64
/** Keywords of one schema, of a list of schemas, and of schemas with names. */
const single = new Set(['additionalProperties', 'items', 'not'])
const lists = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems'])
const maps = new Set(['$defs', 'definitions', 'patternProperties', 'properties'])

/** The repaired schema of an object; or what is wrong with it, in words that continue a sentence about it. */
export function healSchema(schema: unknown): JsonObject | string {
  if (isNothing(schema) || schema === true) return { type: 'object' }
  if (!isObject(schema)) return 'is not an object'
  if (isDeeper(schema, maxDepth)) return `has more than ${maxDepth} levels`
  const { length } = JSON.stringify(schema)
  if (length > maxLength) return `has ${length} characters, more than ${maxLength}`
  const healed = healNode(withoutNulls(schema))
  const { $schema, type = 'object', properties } = healed
  if (type !== 'object' && !(Array.isArray(type) && type.includes('object'))) return 'is not one of an object'
  if (properties !== undefined && !isObject(properties)) return 'has properties that are not an object'
  if (typeof $schema !== 'string') delete healed.$schema
  return { ...(healed as JsonObject), type: 'object' }
}

/** A schema, from any value in its place. */
function healNode(node: unknown): Members {
  const entries = isObject(node) ? Object.entries(node) : []
  return Object.fromEntries(
    entries.flatMap(([keyword, value]) => {
      const healed = healKeyword(keyword, value)
      return healed === undefined ? [] : [[keyword, healed]]
    }),
  )
}

function healKeyword(keyword: string, value: unknown): unknown {
  const healAny = (schema: unknown) => (typeof schema === 'boolean' ? schema : healNode(schema))
  if (keyword === 'required') return Array.isArray(value) ? value.filter((key) => typeof key === 'string') : undefined
  if (lists.has(keyword)) return Array.isArray(value) ? value.map(healAny) : value
  if (single.has(keyword)) return Array.isArray(value) && value.length > 0 ? value.map(healAny) : healAny(value)
  if (!maps.has(keyword)) return value
  if (isNothing(value)) return undefined
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([key, schema]) => [key, healAny(schema)])) : value
}

/** PHP writes an empty object as a list. */
function isNothing(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0)
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1))
}
