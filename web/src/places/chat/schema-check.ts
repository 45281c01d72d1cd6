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
  { root, place, work }: At = { root: schema, place: 'the answer', work: { left: mostWork } },
): string[] {
  work.left -= 1
  if (work.left < 0) throw new RangeError('the schema is too much work')
  if (schema === false) return [`${place} must not be there`]
  if (!isObject(schema)) return []
  if (typeof schema.$ref === 'string') return schemaProblems(value, resolve(schema.$ref, root), { root, place, work })
  const problems: string[] = []
  const type = typeOf(value)
  const wanted = [schema.type ?? []].flat()
  if (wanted.length > 0 && !wanted.includes(type) && !(type === 'integer' && wanted.includes('number'))) {
    return [`${place} must be ${wanted.join(' or ')}, and is ${type}`]
  }
  if (Array.isArray(schema.enum) && !schema.enum.some((each) => isSame(each, value))) {
    problems.push(`${place} must be one of ${schema.enum.map((each) => JSON.stringify(each)).join(', ')}`)
  }
  if ('const' in schema && !isSame(schema.const, value)) problems.push(`${place} must be ${JSON.stringify(schema.const)}`)
  problems.push(...limits(value, schema, place))
  const each = (inner: unknown, innerSchema: unknown, innerPlace: string) =>
    problems.push(...schemaProblems(inner, innerSchema, { root, place: innerPlace, work }))
  if (isObject(value)) {
    const known = isObject(schema.properties) ? schema.properties : {}
    for (const name of [schema.required ?? []].flat()) {
      if (!Object.hasOwn(value, String(name))) problems.push(`${place} lacks "${String(name)}"`)
    }
    for (const [name, inner] of Object.entries(value)) {
      const innerPlace = place === 'the answer' ? name : `${place}.${name}`
      if (Object.hasOwn(known, name)) each(inner, known[name], innerPlace)
      else if (schema.additionalProperties !== undefined) each(inner, schema.additionalProperties, innerPlace)
    }
  }
  if (Array.isArray(value)) {
    const first = Array.isArray(schema.prefixItems) ? schema.prefixItems : []
    for (const [index, inner] of value.entries()) each(inner, first[index] ?? schema.items, `${place}[${index}]`)
  }
  for (const part of [schema.allOf ?? []].flat()) each(value, part, place)
  const passing = (name: string) =>
    [schema[name] ?? []].flat().filter((option) => schemaProblems(value, option, { root, place, work }).length === 0).length
  if (schema.anyOf !== undefined && passing('anyOf') === 0) problems.push(`${place} matches none of the alternatives`)
  if (schema.oneOf !== undefined && passing('oneOf') !== 1) problems.push(`${place} must match exactly one of the alternatives`)
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
