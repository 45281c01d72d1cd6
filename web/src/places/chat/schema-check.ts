import { isObject, type JsonObject } from './json-object.ts'

type At = { readonly root: unknown; readonly place: string; readonly work: { left: number } }

/** The most schemas to compare with a value: schemas that refer to each other may cause endless work. */
const mostWork = 100_000

const typeOf = (value: unknown) =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : Number.isInteger(value) ? 'integer' : typeof value

/**
 * The violations of a JSON Schema in a value, each with its place; empty if none. Checks the keywords that schemas of answers use; the
 * server enforces the others, as it constrains the answer by the whole schema. Patterns are among them: one alone can take hours. Throws if
 * the schema is too much work.
 */
export function schemaProblems(
  value: unknown,
  schema: unknown,
  at: At = { root: schema, place: 'the answer', work: { left: mostWork } },
): string[] {
  const { root, place, work } = at
  work.left -= 1
  if (work.left < 0) throw new RangeError('the schema is too much work')
  if (schema === false) return [`${place} must not be there`]
  if (!isObject(schema)) return []
  if (typeof schema.$ref === 'string') return schemaProblems(value, resolve(schema.$ref, root), at)
  const type = typeOf(value)
  const wanted = [schema.type ?? []].flat()
  if (wanted.length > 0 && !wanted.includes(type) && !(type === 'integer' && wanted.includes('number'))) {
    return [`${place} must be ${wanted.join(' or ')}, and is ${type}`]
  }
  return [
    ...valueProblems(value, schema, place),
    ...limits(value, schema, place),
    ...partsOf(value, schema, place).flatMap((part) => schemaProblems(part.value, part.schema, { ...at, place: part.place })),
    ...choiceProblems(value, schema, at),
  ]
}

function valueProblems(value: unknown, schema: JsonObject, place: string): string[] {
  const problems: string[] = []
  if (Array.isArray(schema.enum) && !schema.enum.some((each) => isSame(each, value))) {
    problems.push(`${place} must be one of ${schema.enum.map((each) => JSON.stringify(each)).join(', ')}`)
  }
  if ('const' in schema && !isSame(schema.const, value)) problems.push(`${place} must be ${JSON.stringify(schema.const)}`)
  for (const name of isObject(value) ? [schema.required ?? []].flat() : []) {
    if (!Object.hasOwn(value as JsonObject, String(name))) problems.push(`${place} lacks "${String(name)}"`)
  }
  return problems
}

type Part = { readonly value: unknown; readonly schema: unknown; readonly place: string }

/** The values in this one, and this one again for each schema of `allOf`. */
function partsOf(value: unknown, schema: JsonObject, place: string): Part[] {
  const parts: Part[] = []
  if (isObject(value)) {
    const known = isObject(schema.properties) ? schema.properties : {}
    for (const [name, inner] of Object.entries(value)) {
      const innerSchema = Object.hasOwn(known, name) ? known[name] : schema.additionalProperties
      parts.push({ value: inner, schema: innerSchema, place: place === 'the answer' ? name : `${place}.${name}` })
    }
  }
  if (Array.isArray(value)) {
    const first = Array.isArray(schema.prefixItems) ? schema.prefixItems : []
    for (const [index, inner] of value.entries()) {
      parts.push({ value: inner, schema: first[index] ?? schema.items, place: `${place}[${index}]` })
    }
  }
  for (const each of [schema.allOf ?? []].flat()) parts.push({ value, schema: each, place })
  return parts
}

function choiceProblems(value: unknown, schema: JsonObject, at: At): string[] {
  const passing = (name: string) =>
    [schema[name] ?? []].flat().filter((option) => schemaProblems(value, option, at).length === 0).length
  const problems: string[] = []
  if (schema.anyOf !== undefined && passing('anyOf') === 0) problems.push(`${at.place} matches none of the alternatives`)
  if (schema.oneOf !== undefined && passing('oneOf') !== 1)
    problems.push(`${at.place} must match exactly one of the alternatives`)
  return problems
}

function limits(value: unknown, schema: JsonObject, place: string): string[] {
  const size = Array.isArray(value) ? value.length : typeof value === 'string' ? [...value].length : undefined
  const [least, most] = Array.isArray(value) ? ['minItems', 'maxItems'] : ['minLength', 'maxLength']
  const rules: readonly (readonly [string, (limit: number) => boolean, string])[] = [
    [least, (limit) => size !== undefined && size < limit, 'is shorter than'],
    [most, (limit) => size !== undefined && size > limit, 'is longer than'],
    ['minimum', (limit) => typeof value === 'number' && value < limit, 'is less than'],
    ['maximum', (limit) => typeof value === 'number' && value > limit, 'is more than'],
    ['exclusiveMinimum', (limit) => typeof value === 'number' && value <= limit, 'is not more than'],
    ['exclusiveMaximum', (limit) => typeof value === 'number' && value >= limit, 'is not less than'],
  ]
  return rules.flatMap(([name, isBroken, words]) => {
    const limit = schema[name]
    return typeof limit === 'number' && isBroken(limit) ? [`${place} ${words} ${limit}`] : []
  })
}

/** A part of the schema, by its pointer; unknown ones allow everything. */
function resolve(pointer: string, root: unknown): unknown {
  return pointer
    .replace(/^#\/?/, '')
    .split('/')
    .filter((part) => part !== '')
    .reduce<unknown>((at, part) => (isObject(at) ? at[part.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined), root)
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
