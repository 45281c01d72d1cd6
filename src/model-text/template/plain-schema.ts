import { isObject } from '../../base/json.ts'
import type { JsonObject } from '../../contract/request.ts'

/** References are written out in place, and a few lines can refer to millions of schemas. */
const maxSchemas = 2_000
const types = ['string', 'number', 'integer', 'boolean', 'array', 'object']
/** Keywords whose value may be null. */
const valueKeywords = ['const', 'default', 'example']
const definitions = ['$defs', 'definitions']

type SchemaContext = {
  readonly document: JsonObject
  /** The references that are being written out. */
  readonly open: readonly string[]
  readonly count: { schemas: number }
}

/**
 * The schema of a tool's parameters in the vocabulary that every template knows: an object with properties, each with one type, without
 * nulls, booleans and references in place of schemas. The remaining keywords become JSON in the description. Equal to the given schema if
 * that is plain; undefined if the result would be too large.
 */
export function plainSchema(schema: JsonObject): JsonObject | undefined {
  const count = { schemas: 0 }
  const plain = plainKeywords(schema, { document: schema, open: [], count })
  return count.schemas > maxSchemas ? undefined : { ...plain, type: 'object', properties: plain.properties ?? {} }
}

function plainPart(schema: unknown, place: SchemaContext): JsonObject {
  if (place.count.schemas > maxSchemas) return {}
  if (!isObject(schema)) return schema === false ? noted({}, false) : {}
  const plain = plainKeywords(schema, place)
  if (plain.type !== 'object') return plain
  return { properties: {}, additionalProperties: true, ...plain }
}

function plainKeywords(schema: JsonObject, place: SchemaContext): JsonObject {
  place.count.schemas += 1
  if (typeof schema.$ref === 'string') return written(schema.$ref, schema, place)
  const unsaid: [string, unknown][] = []
  const said = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
    if ((value === null && !valueKeywords.includes(key)) || definitions.includes(key)) return []
    switch (key) {
      case 'type':
        return plainType(value, unsaid)
      case 'properties':
        return isObject(value) ? [[key, plainMembers(value, place)]] : []
      case 'items':
        if (!Array.isArray(value)) return [[key, plainPart(value, place)]]
        unsaid.push([key, value])
        return []
      case 'additionalProperties':
        return [[key, typeof value === 'boolean' ? value : plainPart(value, place)]]
      case 'anyOf':
      case 'oneOf':
      case 'allOf':
        return Array.isArray(value) ? plainBranches(key, { branches: value, unsaid, place }) : []
      case 'required':
      case 'enum':
        return Array.isArray(value) ? [[key, value]] : []
      case 'description':
        return [[key, typeof value === 'string' ? value : JSON.stringify(value)]]
      default:
        return [[key, value]]
    }
  })
  const plain = typed(Object.fromEntries(merged(said)))
  return unsaid.length === 0 ? plain : noted(plain, Object.fromEntries(unsaid))
}

/** A reference replaced by its schema. One to a surrounding schema, or to a missing one, stays in words. */
function written(reference: string, { $ref: _, ...beside }: JsonObject, place: SchemaContext): JsonObject {
  const target = place.open.includes(reference) ? undefined : lookUp(place.document, reference)
  if (!isObject(target)) return noted(plainKeywords(beside, place), { $ref: reference })
  return plainKeywords({ ...target, ...beside }, { ...place, open: [...place.open, reference] })
}

function lookUp(document: JsonObject, reference: string): unknown {
  if (!/^#(\/|$)/.test(reference)) return undefined
  const keys = reference.split('/').slice(1)
  return keys.reduce<unknown>((at, key) => {
    const name = key.replaceAll('~1', '/').replaceAll('~0', '~')
    return typeof at === 'object' && at !== null && Object.hasOwn(at, name) ? Reflect.get(at, name) : undefined
  }, document)
}

function plainMembers(members: JsonObject, place: SchemaContext): JsonObject {
  return Object.fromEntries(Object.entries(members).map(([name, schema]) => [name, plainPart(schema, place)]))
}

function plainType(value: unknown, unsaid: [string, unknown][]): [string, unknown][] {
  const names = Array.isArray(value) ? value : [value]
  const [first, ...others] = names.filter((name) => types.includes(name))
  if (first === undefined || others.length > 0) unsaid.push(['type', value])
  if (first === undefined) return []
  return names.includes('null')
    ? [
        ['type', first],
        ['nullable', true],
      ]
    : [['type', first]]
}

type Branches = { readonly branches: readonly unknown[]; readonly unsaid: [string, unknown][]; readonly place: SchemaContext }

/** One branch, or one that may be null, is written in place; of several branches, only the type and the properties. */
function plainBranches(keyword: string, { branches, unsaid, place }: Branches): [string, unknown][] {
  const isNull = (branch: unknown) => isObject(branch) && branch.type === 'null'
  const others = branches.filter((branch) => !isNull(branch)).map((branch) => plainPart(branch, place))
  const nullable: [string, unknown][] = others.length < branches.length ? [['nullable', true]] : []
  if (others.length === 1) return [...Object.entries(others[0] ?? {}), ...nullable]
  unsaid.push([keyword, others])
  const isSaid = (key: string) => key === 'type' || key === 'properties' || (keyword === 'allOf' && key === 'required')
  return [...others.flatMap((branch) => Object.entries(branch).filter(([key]) => isSaid(key))), ...nullable]
}

/** If a keyword has several values, the first one counts. Properties and required names are merged. */
function merged(entries: readonly [string, unknown][]): Map<string, unknown> {
  const all = new Map<string, unknown>()
  for (const [key, value] of entries) {
    const before = all.get(key)
    if (!all.has(key)) all.set(key, value)
    else if (key === 'properties') all.set(key, { ...Object(value), ...Object(before) })
    else if (key === 'required') all.set(key, [...new Set([before, value].flat())])
  }
  return all
}

function typed(schema: JsonObject): JsonObject {
  if (schema.type !== undefined) return schema
  if (schema.properties !== undefined) return { ...schema, type: 'object' }
  return schema.items === undefined ? schema : { ...schema, type: 'array' }
}

/** Adds the rest of a schema as JSON to its description. */
export function noted(schema: JsonObject, rest: unknown): JsonObject {
  const { description } = schema
  const note = `JSON Schema: ${JSON.stringify(rest)}`
  return { ...schema, description: typeof description === 'string' && description !== '' ? `${description} ${note}` : note }
}
