import { Ajv2020 } from 'ajv/dist/2020.js'

type Json = Readonly<Record<string, unknown>>
type Content = Readonly<Record<string, { readonly schema?: Json; readonly example?: Json; readonly 'x-each'?: Json }>>
type Answer = { readonly content?: Content }
export type OpenapiOperation = {
  readonly operationId: string
  readonly summary: string
  readonly tags?: readonly string[]
  readonly security: readonly Json[]
  readonly parameters: readonly { readonly name: string; readonly in: 'path' | 'query' }[]
  readonly requestBody?: { readonly required?: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, Answer>>
  readonly 'x-also-at'?: readonly string[]
}
export type OpenapiDocument = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenapiOperation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Json>> }
}

/** What a server answered. */
export type Got = { readonly status: number; readonly type: string; readonly text: string }

/** Every operation of a document, with its name, such as `GET /v1/models`. */
export function operationsOf({ paths }: OpenapiDocument) {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const name = `${method.toUpperCase()} ${path}`
      return { name, method: method.toUpperCase(), path, operation }
    }),
  )
}

/** Checks of bodies and replies against a document; a key of a reply that its schema does not name is a fault, too. */
export function createJudge(document: OpenapiDocument) {
  const { schemas } = document.components
  // The document's own test checks the schemas as such.
  const options = { strict: false, validateFormats: false, validateSchema: false } as const
  const open = new Ajv2020(options).addSchema({ components: { schemas } }, 'doc')
  const closed = new Ajv2020(options).addSchema({ components: { schemas: close(schemas) } }, 'doc')
  const check = (ajv: Ajv2020, { $ref }: Json, value: unknown) => {
    if ($ref === undefined) return
    const schema = { $ref: `doc${$ref}` }
    const validate = ajv.getSchema(schema.$ref) ?? ajv.compile(schema)
    if (!validate(value)) throw new Error(`${$ref}: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(value).slice(0, 2000)}`)
  }
  return {
    checkBody: ({ requestBody }: OpenapiOperation, body: unknown) =>
      check(open, requestBody?.content['application/json']?.schema ?? {}, body),
    /** The status may be one of the errors, which have one schema. */
    checkReply: ({ responses }: OpenapiOperation, { status, type, text }: Got) => {
      const known = responses[status]
      if (known === undefined && status < 400) throw new Error(`the status ${status} is not in the document`)
      const { content = {} } = known ?? responses.default ?? {}
      const named = Object.keys(content).find((each) => new RegExp(`^${each.replace('*', '.*')}(;|$)`).test(type))
      if (named === undefined) {
        if (Object.keys(content).length === 0 && text === '') return
        throw new Error(`the type '${type}' is not in the document: ${text.slice(0, 500)}`)
      }
      const { schema = {}, 'x-each': each } = content[named] ?? {}
      const ajv = known === undefined ? open : closed
      if (each !== undefined) for (const value of valuesOf(text)) check(ajv, each, value)
      else if (named === 'application/json') check(ajv, schema, JSON.parse(text))
    },
  }
}

/** The values of an event stream, or of lines. */
function valuesOf(text: string): readonly unknown[] {
  const found = text.split('\n').map((line) => line.replace(/^data: /, ''))
  return found.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
}

/** Objects whose fields are named have no others. */
function close<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map(close) as T
  if (typeof schema !== 'object' || schema === null) return schema
  const made = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, close(value)]))
  if (typeof made.properties === 'object' && made.additionalProperties === undefined) made.additionalProperties = false
  return made as T
}
