import { isObject } from '../../base/json.ts'
import type { JsonObject } from '../../contract/request.ts'

export type JsonType = 'string' | 'number' | 'integer' | 'boolean' | 'object' | 'array' | 'null'

/** A schema, and the document (`root`) that its references point into. Undefined without a declaration. */
export type Declared = { readonly schema: unknown; readonly root: unknown } | undefined

/** The longest chain of references to follow. */
const maxReferences = 16
/** The most schemas to search for one answer: a caller's schemas may refer to each other in any way. */
const maxSchemas = 1000

type AllowedTypes = ReadonlySet<JsonType> | undefined

/** The types that a declaration allows; undefined when it allows any, or does not say. */
export function allowedTypes(declared: Declared): AllowedTypes {
  return typesOf(declared, new Map())
}

/** `known`: results by schema, and undefined while a schema is being searched, because references may be circular. */
function typesOf(declared: Declared, known: Map<JsonObject, AllowedTypes>): AllowedTypes {
  const schema = resolve(declared)
  if (schema === undefined || declared === undefined) return undefined
  if (known.has(schema) || known.size > maxSchemas) return known.get(schema)
  known.set(schema, undefined)
  const types = typesIn(schema, declared.root, known)
  known.set(schema, types)
  return types
}

function typesIn(schema: JsonObject, root: unknown, known: Map<JsonObject, AllowedTypes>): AllowedTypes {
  const { type } = schema
  if (typeof type === 'string') return withNullable(new Set([type as JsonType]), schema)
  if (Array.isArray(type)) return withNullable(new Set(type as JsonType[]), schema)
  if (Array.isArray(schema.enum)) return new Set(schema.enum.map(typeOf))
  if ('const' in schema) return new Set([typeOf(schema.const)])
  const choices = schema.anyOf ?? schema.oneOf
  if (Array.isArray(choices)) {
    const each = choices.map((choice) => typesOf({ schema: choice, root }, known))
    return each.some((types) => types === undefined)
      ? undefined
      : withNullable(new Set(each.flatMap((types) => [...(types ?? [])])), schema)
  }
  if (Array.isArray(schema.allOf)) {
    for (const part of schema.allOf) {
      const types = typesOf({ schema: part, root }, known)
      if (types !== undefined) return types
    }
  }
  if (isObject(schema.properties)) return new Set(['object'])
  return undefined
}

export function propertyOf(declared: Declared, key: string): Declared {
  return findIn(declared, ({ properties, additionalProperties }) => ({
    own: isObject(properties) && Object.hasOwn(properties, key) ? properties[key] : undefined,
    other: additionalProperties,
  }))
}

export function itemOf(declared: Declared): Declared {
  return findIn(declared, ({ items }) => ({ own: isObject(items) ? items : undefined }))
}

/** The declarations of one schema for a member: by name, or for all members that it does not name. */
type MemberSchemas = { readonly own: unknown; readonly other?: unknown }

/** The first declaration by name in a schema and its parts, or else the one for members without a name. */
function findIn(declared: Declared, membersOf: (schema: JsonObject) => MemberSchemas, seen = new Set<JsonObject>()): Declared {
  const schema = resolve(declared)
  if (schema === undefined || declared === undefined || seen.has(schema) || seen.size > maxSchemas) return undefined
  seen.add(schema)
  const { root } = declared
  const { own, other } = membersOf(schema)
  if (own !== undefined) return { schema: own, root }
  for (const part of parts(schema)) {
    const found = findIn({ schema: part, root }, membersOf, seen)
    if (found !== undefined) return found
  }
  return isObject(other) ? { schema: other, root } : undefined
}

/** The names of an object's properties, in the order of their declaration. */
export function propertyNames(declared: Declared): readonly string[] {
  const schema = resolve(declared)
  return isObject(schema?.properties) ? Object.keys(schema.properties) : []
}

/** The names of the properties that an object must have. */
export function requiredNames(declared: Declared): readonly string[] {
  const required = resolve(declared)?.required
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
}

/** The only required property, if there is exactly one and it may be a string. */
export function soleStringProperty(declared: Declared): string | undefined {
  const names = requiredNames(declared)
  const [name] = names
  if (names.length !== 1 || name === undefined) return undefined
  const types = allowedTypes(propertyOf(declared, name))
  return types === undefined || types.has('string') ? name : undefined
}

function resolve(declared: Declared): JsonObject | undefined {
  let schema = declared?.schema
  for (let hops = 0; hops < maxReferences && isObject(schema) && typeof schema.$ref === 'string'; hops++) {
    schema = follow(declared?.root, schema.$ref)
  }
  return isObject(schema) ? schema : undefined
}

/** Resolves a reference inside the same document; other references declare nothing. */
function follow(root: unknown, reference: string): unknown {
  if (!reference.startsWith('#')) return undefined
  let target: unknown = root
  for (const step of reference.slice(1).split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    target = isObject(target) || Array.isArray(target) ? (target as JsonObject)[key] : undefined
  }
  return target
}

function parts(schema: JsonObject): readonly unknown[] {
  return [schema.allOf, schema.anyOf, schema.oneOf].flatMap((list) => (Array.isArray(list) ? list : []))
}

function withNullable(types: Set<JsonType>, schema: JsonObject): ReadonlySet<JsonType> {
  if (schema.nullable === true) types.add('null')
  return types
}

function typeOf(value: unknown): JsonType {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (Number.isInteger(value)) return 'integer'
  return typeof value as JsonType
}
