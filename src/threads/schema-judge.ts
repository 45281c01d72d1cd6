import { Ajv, type AnySchema, type ErrorObject, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

/** What is wrong with a text that should be JSON of a schema, in words; undefined when nothing is. */
export type Verdict = string | undefined

/** Judges texts by one schema. */
export type SchemaJudge = (text: string) => Verdict

/** Ajv takes the wrong schema for some of these, so that its word on them is worth nothing. */
const misjudged = /"\$(?:dynamicRef|recursiveRef)"/

/**
 * Undefined for a schema that cannot be judged by. The schema comes from outside, and so do its patterns: what this returns may
 * run for years, and belongs into a thread that can be ended.
 */
export function createSchemaJudge(schemaText: string): SchemaJudge | undefined {
  if (misjudged.test(schemaText)) return undefined
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
const options = { strict: false, logger: false, ownProperties: true, multipleOfPrecision: 6 } as const
// Patterns are Unicode's by the standard, and many that people write are not: `\\-` outside of a class.
const patternKinds = [{ unicodeRegExp: true }, { unicodeRegExp: false }]
/** Made once: each has to compile the schema of schemas, which takes longer than most of those that come. */
const draft07 = patternKinds.map((kind) => withFormats(new Ajv({ ...options, ...kind })))
const draft2020 = patternKinds.map((kind) => withFormats(new Ajv2020({ ...options, ...kind })))

function withFormats(ajv: Ajv): Ajv {
  addFormats.default(ajv)
  return ajv
}

function compile(schema: unknown): ValidateFunction | undefined {
  const { $schema, ...rest } = (typeof schema === 'object' ? schema : {}) as { readonly $schema?: unknown }
  for (const ajv of typeof $schema === 'string' && /draft-0\d/.test($schema) ? draft07 : draft2020) {
    try {
      return ajv.compile((typeof schema === 'object' ? rest : schema) as AnySchema)
    } catch {
      // What it understands in neither way it cannot judge; the caller says so.
    } finally {
      // The next schema may use the same ids for others.
      ajv.removeSchema()
    }
  }
  return undefined
}

function describe(error: ErrorObject | undefined): string {
  const place = error === undefined || error.instancePath === '' ? 'the value' : error.instancePath
  return `${place} ${error?.message ?? 'is not valid'}`
}
