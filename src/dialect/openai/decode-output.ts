import { isObject } from '../../base/json.ts'
import { AppError } from '../../contract/errors.ts'
import type { JsonObject, OutputConstraint } from '../../contract/request.ts'
import { decodeGrammar } from '../wire/decode-grammar.ts'
import { preview } from '../wire/preview.ts'
import { validate } from '../wire/validate.ts'
import { type CommonWire, taggedOutputs } from './common-schema.ts'
import { refuseLargeJson } from './large-json.ts'
import { mentions, type NamesIn } from './mentions.ts'
import { isSame, pickSpelled } from './spelling.ts'

/** A constraint, and its field, which errors name. */
export type DecodedOutput = { readonly constraint: OutputConstraint; readonly param: string }

const outputFields = new Set([
  'response_format',
  'structured_outputs',
  'json_schema',
  'guided_json',
  'regex_pattern',
  'regex',
  'guided_regex',
  'grammar_string',
  'grammar',
  'guided_grammar',
  'guided_choice',
] as const)

type OutputWire = Pick<CommonWire, NamesIn<typeof outputFields>>
type ResponseFormat = NonNullable<CommonWire['response_format']>

/** Decodes the output constraint. Throws for two different ones, and for an invalid one. */
export function decodeOutput(wire: OutputWire): DecodedOutput {
  const found = mentions(wire, outputFields) ? [...decodeFormats(wire), ...decodeExtensions(wire)] : []
  const first = found[0]
  if (first === undefined) return { constraint: { type: 'text' }, param: 'response_format' }
  const other = found.find(({ constraint }) => !isSame(constraint, first.constraint))
  if (other === undefined) return first
  throw new AppError(
    'invalid-request',
    `${first.param} and ${other.param} are different constraints on the output: send one of them`,
    {
      param: other.param,
    },
  )
}

function decodeFormats({ response_format, structured_outputs }: OutputWire): DecodedOutput[] {
  const found: DecodedOutput[] = []
  if (response_format) {
    const decoded = decodeFormat(response_format)
    if (decoded.constraint.type !== 'text') found.push(decoded)
  }
  if (!structured_outputs) return found
  const { json, json_object, regex, grammar, choice, structural_tag: tags } = structured_outputs
  const path = 'structured_outputs'
  if (isGiven(json)) found.push({ constraint: schemaOf(json, `${path}.json`), param: `${path}.json` })
  if (json_object === true) found.push({ constraint: { type: 'json-object' }, param: `${path}.json_object` })
  if (isGiven(regex)) found.push({ constraint: { type: 'regex', pattern: regex }, param: `${path}.regex` })
  if (isGiven(grammar)) found.push({ constraint: decodeGrammar(grammar, `${path}.grammar`), param: `${path}.grammar` })
  if (isGiven(choice)) found.push({ constraint: choiceOf(choice), param: `${path}.choice` })
  if (isGiven(tags)) {
    const param = `${path}.structural_tag`
    found.push({ constraint: taggedOf(typeof tags === 'string' ? parseTags(tags, param) : tags, param), param })
  }
  return found
}

function decodeExtensions(wire: OutputWire): DecodedOutput[] {
  const found: DecodedOutput[] = []
  const schema = pickSpelled(wire, ['json_schema', 'guided_json'])
  if (schema !== undefined && schema.value !== '') {
    found.push({ constraint: schemaOf(schema.value, schema.name), param: schema.name })
  }
  const pattern = pickSpelled(wire, ['regex_pattern', 'regex', 'guided_regex'])
  if (pattern !== undefined && pattern.value !== '') {
    found.push({ constraint: { type: 'regex', pattern: pattern.value }, param: pattern.name })
  }
  const grammar = pickSpelled(wire, ['grammar_string', 'grammar', 'guided_grammar'])
  if (grammar !== undefined && grammar.value !== '') {
    found.push({ constraint: decodeGrammar(grammar.value, grammar.name), param: grammar.name })
  }
  if (isGiven(wire.guided_choice)) found.push({ constraint: choiceOf(wire.guided_choice), param: 'guided_choice' })
  return found
}

function decodeFormat(format: ResponseFormat): DecodedOutput {
  const path = 'response_format'
  switch (format.type) {
    case 'text':
      return { constraint: { type: 'text' }, param: path }
    case 'json_object':
    case 'json':
      return isGiven(format.schema)
        ? { constraint: schemaOf(format.schema, `${path}.schema`), param: `${path}.schema` }
        : { constraint: { type: 'json-object' }, param: path }
    case 'json_schema':
      return decodeJsonSchema(format.json_schema)
    case 'regex':
      return { constraint: { type: 'regex', pattern: format.pattern }, param: `${path}.pattern` }
    case 'grammar':
      return { constraint: decodeGrammar(format.grammar, `${path}.grammar`), param: `${path}.grammar` }
    case 'structural_tag':
      return { constraint: taggedOf(format, path), param: path }
  }
}

function parseTags(text: string, param: string): Tagged {
  try {
    return validate(taggedOutputs, { structured_outputs: { structural_tag: JSON.parse(text) } }).structured_outputs.structural_tag
  } catch (cause) {
    if (cause instanceof AppError) throw cause
    throw new AppError('invalid-request', `${param}: expected an object, or its JSON as a string, got ${preview(text)}`, {
      param,
      cause,
    })
  }
}

type Tagged = Extract<ResponseFormat, { type: 'structural_tag' }>

/** MLC-LLM calls the structures tags. Newer servers of this type also accept a `format`, with more options. */
function taggedOf({ structures, tags, triggers }: Tagged, at: string): OutputConstraint {
  const [given, name] = isGiven(structures) ? [structures, 'structures'] : [tags ?? [], 'tags']
  const path = `${at}.${name}`
  const refuse = (param: string, what: string): never => {
    throw new AppError('invalid-request', `${param} ${what}`, { param })
  }
  if (given.length === 0) refuse(`${at}.structures`, 'is missing: send at least one structure with begin, schema and end')
  for (const [index, { begin }] of given.entries()) {
    if (!triggers.some((trigger) => begin.startsWith(trigger)))
      refuse(`${path}[${index}].begin`, `'${preview(begin)}' begins with none of ${at}.triggers`)
  }
  for (const [index, trigger] of triggers.entries()) {
    if (!given.some(({ begin }) => begin.startsWith(trigger)))
      refuse(`${at}.triggers[${index}]`, `'${preview(trigger)}' is the beginning of no structure`)
  }
  return {
    type: 'tagged',
    structures: given.map(({ begin, schema, end }, index) => ({
      begin,
      schema: schemaOf(schema, `${path}[${index}].schema`).schema,
      end,
    })),
    triggers,
  }
}

/** OpenAI's wrapper; without `name` and `schema`, the object is the schema itself (tabbyAPI). */
function decodeJsonSchema({ strict, ...rest }: Extract<ResponseFormat, { type: 'json_schema' }>['json_schema']): DecodedOutput {
  const { name, description, schema } = rest
  const [path, schemaPath] = ['response_format.json_schema', 'response_format.json_schema.schema']
  const options = { strict: strict ?? false, ...(isGiven(name) && { name }) }
  if (isGiven(schema)) {
    const described = { ...options, ...(isGiven(description) && { description }) }
    return { constraint: { ...schemaOf(schema, schemaPath), ...described }, param: schemaPath }
  }
  if (!isGiven(name)) return { constraint: { ...schemaOf(rest, path), ...options }, param: path }
  throw new AppError('invalid-request', `${schemaPath} is missing: expected a JSON Schema`, { param: schemaPath })
}

function schemaOf(schema: JsonObject | string | boolean, param: string): Extract<OutputConstraint, { type: 'json-schema' }> {
  const value = typeof schema === 'string' ? parseSchema(schema, param) : schema
  refuseLargeJson(value, param)
  return { type: 'json-schema', schema: value, strict: false }
}

function parseSchema(text: string, param: string): JsonObject | boolean {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw badSchema(text, param, cause)
  }
  if (typeof value === 'boolean') return value
  if (isObject(value)) return value
  throw badSchema(text, param)
}

function badSchema(text: string, param: string, cause?: unknown): AppError {
  const message = `${param}: expected a JSON Schema, or its JSON as a string, got ${preview(text)}`
  return new AppError('invalid-request', message, { param, cause })
}

function choiceOf(texts: readonly string[]): OutputConstraint {
  return { type: 'gbnf', grammar: `root ::= ${texts.map(quote).join(' | ')}` }
}

/** A text as a GBNF literal. */
function quote(text: string): string {
  const escaped = text.replace(/["\\\p{Cc}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0
    return `\\u${code.toString(16).padStart(4, '0')}`
  })
  return `"${escaped}"`
}

function isGiven<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null
}
