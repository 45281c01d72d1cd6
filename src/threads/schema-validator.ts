import { Ajv, type AnySchema, type ErrorObject, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { isObject } from '../base/json.ts'
import { gbnfKeyword } from '../grammar/rules/gbnf-text.ts'
import { createGbnfMatcher } from '../grammar/run/gbnf-matcher.ts'
import { createTextMatcher } from '../grammar/run/text-matcher.ts'
import { keywordsOfSchema } from '../grammar/schema/schema-document.ts'

/** Validates texts against one schema: a description of what is wrong; undefined for valid JSON. */
export type SchemaValidator = (text: string) => string | undefined

/** Ajv resolves some of these to the wrong schema, so its results cannot be trusted. */
const unsupported = /"\$(?:dynamicRef|recursiveRef)"/

/**
 * Undefined for a schema that is not supported. Run the validator in a thread with a deadline: the schema's patterns come from
 * callers and can backtrack without end.
 */
export function createSchemaValidator(schemaText: string): SchemaValidator | undefined {
  if (unsupported.test(schemaText)) return undefined
  const validate = compile(JSON.parse(schemaText))
  if (validate === undefined || '$async' in validate) return undefined
  return (text) => {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      return 'it is not JSON'
    }
    return validate(value) === true ? undefined : describe(validate.errors?.[0])
  }
}

// Doubles are seldom exact multiples of a decimal: 4.35 / 0.01 is not a whole number.
const options = {
  strict: false,
  logger: false,
  ownProperties: true,
  multipleOfPrecision: 6,
  code: { regExp: Object.assign(patternOf, { code: 'new RegExp' }) },
} as const
// The standard requires Unicode patterns, but many in use are invalid as such: `\\-` outside a class.
const patternKinds = [{ unicodeRegExp: true }, { unicodeRegExp: false }]
/** Created once: compiling the meta-schema takes longer than compiling most schemas. */
const draft07 = patternKinds.map((kind) => extended(new Ajv({ ...options, ...kind })))
const draft2020 = patternKinds.map((kind) => extended(new Ajv2020({ ...options, ...kind })))

/** A pattern of a schema, matched in linear time if an automaton can express it: `RegExp` may backtrack for years. */
function patternOf(source: string, flags: string): { test(text: string): boolean; toString(): string } {
  const own = new RegExp(source, flags)
  let matches: ReturnType<typeof createTextMatcher> | 'unknown' = 'unknown'
  const test = (text: string): boolean => {
    if (matches === 'unknown') matches = createTextMatcher(source)
    return matches === undefined ? own.test(text) : matches(text)
  }
  return { test, toString: () => String(own) }
}

/** Adds formats, and the keyword for texts of a grammar. */
function extended(ajv: Ajv): Ajv {
  addFormats.default(ajv)
  ajv.addKeyword({
    keyword: gbnfKeyword,
    type: 'string',
    schemaType: 'string',
    compile: createGbnfMatcher,
    error: { message: 'is not a text that the grammar allows' },
  })
  return ajv
}

function compile(schema: unknown): ValidateFunction | undefined {
  const { $schema, ...rest } = (typeof schema === 'object' ? schema : {}) as { readonly $schema?: unknown }
  const isDraft7 = typeof $schema === 'string' && /draft-0\d/.test($schema)
  const judged = judgedSchema(typeof schema === 'object' ? rest : schema, isDraft7) as AnySchema
  for (const ajv of isDraft7 ? draft07 : draft2020) {
    try {
      return ajv.compile(judged)
    } catch {
      // Try the next kind of pattern; a schema that compiles with neither is not supported.
    } finally {
      // The next schema may reuse the same ids.
      ajv.removeSchema()
    }
  }
  return undefined
}

function describe(error: ErrorObject | undefined): string {
  const place = error === undefined || error.instancePath === '' ? 'the value' : error.instancePath
  return `${place} ${error?.message ?? 'is not valid'}`
}

type Part = { [keyword: string]: unknown }

/**
 * A copy of a schema that Ajv accepts, with the same meaning: `id`, which drafts since 6 do not know and Ajv refuses, is left out; anchors,
 * tuples and exclusive bounds of older drafts are written as in draft 2020-12.
 */
function judgedSchema(schema: unknown, isDraft7: boolean): unknown {
  return copy(schema)

  function copy(value: unknown): unknown {
    if (!isObject(value)) return value
    const part: Part = {}
    for (const [keyword, inner] of Object.entries(value)) set(part, keyword, copyParts(keyword, inner))
    return renewed(part)
  }

  function copyParts(keyword: string, value: unknown): unknown {
    if (keywordsOfSchema.lists.has(keyword) && Array.isArray(value)) return value.map(copy)
    if (keywordsOfSchema.maps.has(keyword) && isObject(value)) {
      const parts: Part = {}
      for (const [name, inner] of Object.entries(value)) set(parts, name, copy(inner))
      return parts
    }
    return keywordsOfSchema.single.has(keyword) ? copy(value) : value
  }

  function renewed({ id: _, ...part }: Part): Part {
    renewBound(part, 'exclusiveMinimum', 'minimum')
    renewBound(part, 'exclusiveMaximum', 'maximum')
    if (isDraft7) return part
    const { $id, items, additionalItems, ...rest } = part
    const renamed: Part = { ...rest }
    if (typeof $id === 'string' && $id.startsWith('#')) renamed.$anchor ??= $id.slice(1)
    else if ($id !== undefined) renamed.$id = $id
    if (Array.isArray(items)) Object.assign(renamed, { prefixItems: items, items: additionalItems ?? true })
    else if (items !== undefined) renamed.items = items
    return renamed
  }
}

/** In draft 4 an exclusive bound is a Boolean beside the bound. */
function renewBound(part: Part, exclusive: string, inclusive: string): void {
  if (typeof part[exclusive] !== 'boolean') return
  if (part[exclusive] && part[inclusive] !== undefined) {
    part[exclusive] = part[inclusive]
    delete part[inclusive]
  } else {
    delete part[exclusive]
  }
}

/** Sets a member with any name, even `__proto__`. */
function set(part: Part, name: string, value: unknown): void {
  Object.defineProperty(part, name, { value, enumerable: true, writable: true, configurable: true })
}
