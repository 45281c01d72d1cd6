import { isObject } from '../../base/json.ts'
import type { JsonObject } from '../../contract/request.ts'
import { jsonObject } from './first-fault.ts'

/**
 * A JSON Schema. An empty list, which PHP writes for an empty object, becomes an object wherever the schema must have one; so does null for
 * `properties`.
 */
export const jsonSchema = jsonObject.transform((schema): JsonObject => withObjects(schema))

const maps: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'dependentSchemas', 'definitions', '$defs'])
const schemas: ReadonlySet<string> = new Set(['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains'])
const lists: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])

/** A schema that is nested more deeply is refused later, as too large. */
const maxDepth = 100

/** Returns the schema itself if nothing needs repair. */
function withObjects(schema: JsonObject, depth = 0): JsonObject {
  if (depth > maxDepth) return schema
  const mend = (value: unknown) => {
    const inner = asObject(value)
    return isObject(inner) ? withObjects(inner, depth + 1) : inner
  }
  return mapValues(schema, (value, keyword) => {
    if (maps.has(keyword)) {
      const map = value === null ? {} : asObject(value)
      return isObject(map) ? mapValues(map, mend) : map
    }
    if (schemas.has(keyword)) return mend(value)
    if (!lists.has(keyword) || !Array.isArray(value)) return value
    const mended = value.map(mend)
    return mended.some((inner, index) => inner !== value[index]) ? mended : value
  })
}

function asObject(value: unknown): unknown {
  return Array.isArray(value) && value.length === 0 ? {} : value
}

function mapValues(object: JsonObject, change: (value: unknown, key: string) => unknown): JsonObject {
  let changed: Record<string, unknown> | undefined
  for (const key of Object.keys(object)) {
    const value = object[key]
    const mended = change(value, key)
    if (mended === value) continue
    changed ??= { ...object }
    changed[key] = mended
  }
  return changed ?? object
}
