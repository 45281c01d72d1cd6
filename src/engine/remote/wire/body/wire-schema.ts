import { isObject } from '../../../../base/json.ts'
import type { JsonObject } from '../../../../contract/request.ts'

/** Keywords that hold a schema. Those whose `true` and `false` every server reads are missing on purpose. */
const single: ReadonlySet<string> = new Set(['items', 'contains', 'not', 'if', 'then', 'else', 'propertyNames'])
const objectsOnly: ReadonlySet<string> = new Set([
  'additionalProperties',
  'unevaluatedProperties',
  'additionalItems',
  'unevaluatedItems',
])
const byName: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])
const lists: ReadonlySet<string> = new Set(['prefixItems', 'anyOf', 'oneOf', 'allOf'])
/** `null` is a valid value of these. */
const values: ReadonlySet<string> = new Set(['const', 'default', 'example', 'examples'])

const types: ReadonlySet<unknown> = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'])

/** llama.cpp's limit in a grammar. */
const mostRepetitions = 2000

type Reader = {
  /** The server refuses schemas that it does not understand: unreadable parts are left out, and the value is free there. */
  readonly isStrict: boolean
  /** The whole schema, to which references point. */
  readonly root: JsonObject
}

/**
 * A tool's parameters in a form that servers read, with the same meaning: many accept only objects as schemas, and no keyword that is
 * `null`.
 */
export function wireSchema(schema: JsonObject, { isStrict }: Pick<Reader, 'isStrict'>): JsonObject {
  return rewrite(schema, { isStrict, root: schema })
}

/** Lists of schemas as `items`: the spelling of an older draft, which not every compiler of grammars knows. */
export function hasOldTuples(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(hasOldTuples)
  return isObject(schema) && (Array.isArray(schema.items) || Object.values(schema).some(hasOldTuples))
}

function rewrite(schema: JsonObject, reader: Reader): JsonObject {
  const entries = Object.entries(schema).flatMap(([key, value]) => {
    if (value === null && !values.has(key)) return []
    if (reader.isStrict && isUnreadable(key, value, reader.root)) return []
    return [[key, rewriteKeyword(key, value, reader)]]
  })
  return Object.fromEntries(entries)
}

function rewriteKeyword(key: string, value: unknown, reader: Reader): unknown {
  const child = (each: unknown) => asObject(each, reader)
  if (Array.isArray(value)) return lists.has(key) || key === 'items' ? value.map(child) : value
  if (single.has(key)) return child(value)
  if (!isObject(value)) return value
  if (objectsOnly.has(key)) return rewrite(value, reader)
  return byName.has(key) ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, child(each)])) : value
}

/** Replaces a boolean schema, or a value that is not a schema. */
function asObject(schema: unknown, reader: Reader): unknown {
  if (isObject(schema)) return rewrite(schema, reader)
  if (schema === false) return { not: {} }
  return schema === true || schema === null ? {} : schema
}

function isUnreadable(key: string, value: unknown, root: JsonObject): boolean {
  switch (key) {
    case 'enum':
    case 'anyOf':
    case 'oneOf':
    case 'allOf':
      return !Array.isArray(value) || value.length === 0
    case 'type':
      return Array.isArray(value) ? value.length === 0 || !value.every((type) => types.has(type)) : !types.has(value)
    case 'minItems':
    case 'maxItems':
    case 'minLength':
    case 'maxLength':
      return typeof value !== 'number' || value > mostRepetitions
    case '$ref':
      return typeof value !== 'string' || !pointsInto(value, root)
    default:
      return false
  }
}

/** Whether a reference points to a schema of the same document. */
function pointsInto(reference: string, root: JsonObject): boolean {
  if (reference === '#') return true
  if (!reference.startsWith('#/')) return false
  let place: unknown = root
  for (const step of reference.slice(2).split('/')) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (!isObject(place) || !Object.hasOwn(place, name)) return false
    place = place[name]
  }
  return true
}
