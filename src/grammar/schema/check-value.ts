import { gbnfKeyword } from '../rules/gbnf-text.ts'
import type { RuleBook } from '../rules/rule-book.ts'
import { kindOf, sameValue, valueKey } from './facets.ts'
import type { Patterns } from './patterns.ts'
import { isObject, type Schema, type SchemaDocument, type SchemaObject } from './schema-document.ts'

const maxDepth = 100

/** Thrown where the answer is unknown: inside a `not`, a cautious "no" would become a wrong "yes". */
const unknown = new Error('whether a listed value is valid cannot be said')

export type CheckContext = {
  readonly book: RuleBook
  readonly document: SchemaDocument
  readonly patterns: Patterns
  /** The keys of the values of each `enum` seen so far. */
  readonly listed: Map<readonly unknown[], ReadonlySet<string>>
}

/**
 * Whether a value that the schema itself lists (`enum`, `const`, a property's name) satisfies a schema. It checks every keyword
 * but `format`; where it cannot tell, the answer is no, because a grammar may leave a value out.
 */
export function satisfies(value: unknown, schema: Schema, { book, document, patterns, listed }: CheckContext): boolean {
  try {
    return check(value, schema, 0)
  } catch (error) {
    if (error === unknown) return false
    throw error
  }

  function check(value: unknown, schema: Schema, depth: number): boolean {
    if (typeof schema === 'boolean') return schema
    if (depth > maxDepth) throw unknown
    book.spend(2)
    const holds = (part: unknown, of: unknown = value): boolean =>
      part === undefined || check(of, document.asSchema(part, []), depth + 1)
    return (
      checkAny(schema, value) &&
      (!Array.isArray(schema.enum) || isListed(schema.enum, value)) &&
      checkCombined(schema, holds) &&
      (typeof schema.$ref !== 'string' || holds(document.resolve(schema.$ref, schema))) &&
      (typeof schema.$dynamicRef !== 'string' || holds(resolveDynamic(schema.$dynamicRef, schema))) &&
      (typeof value !== 'string' || checkText(schema, value, patterns)) &&
      (typeof value !== 'number' || checkNumber(schema, value)) &&
      (!Array.isArray(value) || checkArray(schema, value, holds)) &&
      (!isObject(value) || checkObject(schema, value, holds))
    )
  }

  function isListed(values: readonly unknown[], value: unknown): boolean {
    const keys = listed.get(values) ?? new Set(values.map(valueKey))
    listed.set(values, keys)
    return keys.has(valueKey(value))
  }

  function resolveDynamic(reference: string, schema: SchemaObject): Schema {
    const target = document.resolveDynamic(reference, schema)
    if (target === undefined) throw unknown
    return target
  }

  function checkObject(schema: SchemaObject, value: SchemaObject, holds: Holds): boolean {
    const names = Object.keys(value)
    const properties = isObject(schema.properties) ? schema.properties : {}
    const byPattern = Object.entries(isObject(schema.patternProperties) ? schema.patternProperties : {})
    const member = (name: string): boolean => {
      const own = Object.hasOwn(properties, name) ? [properties[name]] : []
      const found = byPattern.map(([source, part]) => ({ part, matches: patterns.matches(source, name) }))
      if (found.some(({ matches }) => matches === undefined)) throw unknown
      const parts = [...own, ...found.filter(({ matches }) => matches === true).map(({ part }) => part)]
      return (parts.length === 0 ? [schema.additionalProperties] : parts).every((part) => holds(part, value[name]))
    }
    const dependencies = [schema.dependentRequired, schema.dependentSchemas, schema.dependencies].flatMap((map) =>
      isObject(map) ? Object.entries(map).filter(([name]) => Object.hasOwn(value, name)) : [],
    )
    return (
      within(names.length, schema.minProperties, schema.maxProperties) &&
      list(schema.required).every((name) => Object.hasOwn(value, String(name))) &&
      names.every((name) => member(name) && holds(schema.propertyNames, name)) &&
      dependencies.every(([, needs]) =>
        Array.isArray(needs) ? needs.every((name) => Object.hasOwn(value, String(name))) : holds(needs),
      ) &&
      isKnown(schema.unevaluatedProperties, names.length)
    )
  }
}

type Holds = (part: unknown, of?: unknown) => boolean

function checkAny(schema: SchemaObject, value: unknown): boolean {
  const types = schema.type === undefined ? undefined : list(Array.isArray(schema.type) ? schema.type : [schema.type])
  const isType = types === undefined || types.includes(kindOf(value)) || (types.includes('integer') && Number.isInteger(value))
  return isType && (!Object.hasOwn(schema, 'const') || sameValue(schema.const, value))
}

function checkCombined(schema: SchemaObject, holds: Holds): boolean {
  const condition = schema.if === undefined ? undefined : holds(schema.if)
  return (
    list(schema.allOf).every((part) => holds(part)) &&
    (schema.anyOf === undefined || list(schema.anyOf).some((part) => holds(part))) &&
    (schema.oneOf === undefined || list(schema.oneOf).filter((part) => holds(part)).length === 1) &&
    (schema.not === undefined || !holds(schema.not)) &&
    (condition === undefined || holds(condition ? schema.then : schema.else))
  )
}

function checkText(schema: SchemaObject, value: string, patterns: Patterns): boolean {
  if (schema[gbnfKeyword] !== undefined) throw unknown
  return (
    within([...value].length, schema.minLength, schema.maxLength) &&
    (typeof schema.pattern !== 'string' || isMatch(schema.pattern, value, patterns))
  )
}

function checkNumber(schema: SchemaObject, value: number): boolean {
  const { exclusiveMinimum: above, exclusiveMaximum: below, multipleOf } = schema
  return (
    within(value, schema.minimum, schema.maximum) &&
    (typeof above !== 'number' || value > above) &&
    (typeof below !== 'number' || value < below) &&
    (above !== true || value !== schema.minimum) &&
    (below !== true || value !== schema.maximum) &&
    (typeof multipleOf !== 'number' || Number.isInteger(value / multipleOf))
  )
}

function checkArray(schema: SchemaObject, value: readonly unknown[], holds: Holds): boolean {
  const tuple = Array.isArray(schema.items) ? schema.items : list(schema.prefixItems)
  const rest = Array.isArray(schema.items) ? schema.additionalItems : schema.items
  const found = schema.contains === undefined ? 0 : value.filter((item) => holds(schema.contains, item)).length
  return (
    within(value.length, schema.minItems, schema.maxItems) &&
    value.every((item, index) => holds(index < tuple.length ? tuple[index] : rest, item)) &&
    (schema.contains === undefined || within(found, schema.minContains ?? 1, schema.maxContains)) &&
    (schema.uniqueItems !== true || new Set(value.map(valueKey)).size === value.length) &&
    isKnown(schema.unevaluatedItems, value.length)
  )
}

function isMatch(source: string, text: string, patterns: Patterns): boolean {
  const matches = patterns.matches(source, text)
  if (matches === undefined) throw unknown
  return matches
}

/** Which members other schemas have evaluated is not tracked here. */
function isKnown(unevaluated: unknown, members: number): boolean {
  if (unevaluated === undefined || unevaluated === true || members === 0) return true
  throw unknown
}

function within(value: number, min: unknown, max: unknown): boolean {
  return (typeof min !== 'number' || value >= min) && (typeof max !== 'number' || value <= max)
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
