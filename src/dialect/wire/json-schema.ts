import { isObject } from '../../base/json.ts'
import type { JsonObject } from '../../contract/request.ts'
import { jsonObject } from './first-fault.ts'

/**
 * A JSON Schema. An empty list, which PHP writes for an empty object, becomes an object wherever the schema must have one; so does null for
 * `properties`.
 */
export const jsonSchema = jsonObject.transform((schema): JsonObject => withObjects(schema, 0))

type Mend = (value: unknown, depth: number) => unknown

const maps = ['properties', 'patternProperties', 'dependentSchemas', 'definitions', '$defs']
const schemas = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains']
const lists = ['anyOf', 'oneOf', 'allOf', 'prefixItems']
const mends: ReadonlyMap<string, Mend> = new Map([
  ...maps.map((keyword): [string, Mend] => [keyword, mendMap]),
  ...schemas.map((keyword): [string, Mend] => [keyword, mendSchema]),
  ...lists.map((keyword): [string, Mend] => [keyword, mendList]),
])

/** A schema that is nested more deeply is refused later, as too large. */
const maxDepth = 100

/** Returns the schema itself if nothing needs repair. */
function withObjects(schema: JsonObject, depth: number): JsonObject {
  if (depth > maxDepth) return schema
  return mapObjects(schema, (value, keyword) => mends.get(keyword)?.(value, depth + 1) ?? value)
}

function mendSchema(value: unknown, depth: number): unknown {
  if (isEmptyList(value)) return {}
  return isObject(value) ? withObjects(value, depth) : value
}

function mendMap(value: unknown, depth: number): unknown {
  if (value === null || isEmptyList(value)) return {}
  return isObject(value) ? mapObjects(value, (schema) => mendSchema(schema, depth)) : value
}

function mendList(value: unknown, depth: number): unknown {
  if (!Array.isArray(value)) return value
  const mended = value.map((schema) => mendSchema(schema, depth))
  return mended.some((schema, index) => schema !== value[index]) ? mended : value
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

/** Texts and numbers, which most keywords have, are passed over: this runs for each tool of each request. */
function mapObjects(object: JsonObject, change: (value: unknown, key: string) => unknown): JsonObject {
  let changed: Record<string, unknown> | undefined
  for (const key in object) {
    const value = object[key]
    if (typeof value !== 'object') continue
    const mended = change(value, key)
    if (mended === value) continue
    changed ??= { ...object }
    changed[key] = mended
  }
  return changed ?? object
}
