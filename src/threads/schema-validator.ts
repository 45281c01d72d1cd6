import { Ajv, type AnySchema, type ErrorObject, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { gbnfKeyword } from '../grammar/rules/gbnf-text.ts'
import { createGbnfMatcher } from '../grammar/run/gbnf-matcher.ts'
import { createTextMatcher } from '../grammar/run/text-matcher.ts'
import { judgedSchema } from './judged-schema.ts'

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
