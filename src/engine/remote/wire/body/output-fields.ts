import { AppError } from '../../../../contract/errors.ts'
import type { GenerationRequest, JsonObject, OutputConstraint } from '../../../../contract/request.ts'
import type { GrammarRequest } from '../../../../grammar/compile-output.ts'
import type { CompiledGrammar } from '../../../../grammar/grammar-builder.ts'
import { outputParam } from '../../../../threads/grammar-failure.ts'
import type { ConstraintField, Profile } from '../../servers/profile.ts'

/** Request fields that constrain the output, and how strictly they do. */
export type OutputFields = {
  readonly fields: Readonly<Record<string, unknown>>
  readonly structured?: 'full' | 'partial'
}

type Wanted = Pick<GenerationRequest, 'output'>

/** The grammar to compile or check before sending: for servers that take ours, and to refuse an invalid schema or grammar. */
export function grammarRequest({ output }: Wanted, profile: Profile): GrammarRequest | undefined {
  switch (output.type) {
    case 'text':
      return undefined
    case 'gbnf':
    case 'json-schema':
    case 'tagged':
      return { output, param: outputParam(output) }
    case 'json-object':
      return writesJson(profile) && profile.jsonObject ? { output, param: outputParam(output) } : undefined
    case 'regex':
      return usesOurGrammar(profile) ? { output, param: outputParam(output) } : undefined
  }
}

/**
 * The output constraint in the server's fields; `compiled` is the grammar of `grammarRequest`. Throws `invalid-request` and
 * `unsupported-field` with the request's field.
 */
export function outputFields({ output }: Wanted, profile: Profile, compiled?: CompiledGrammar): OutputFields {
  const { gbnf, regex, jsonObject, jsonSchema, outputStyle, name } = profile
  const refuse = (what: string) => {
    throw new AppError('unsupported-field', `the server behind this model (${name}) takes no ${what}; leave it out`, {
      at: ['output'],
    })
  }
  switch (output.type) {
    case 'text':
      return { fields: {} }
    case 'gbnf':
      if (usesOurGrammar(profile)) return ourGrammar(profile.gbnf, compiled)
      if (gbnf === undefined) return refuse('grammars')
      return { fields: constraintField(gbnf, compiled?.grammar ?? output.grammar), structured: 'full' }
    case 'regex': {
      if (usesOurGrammar(profile)) return ourGrammar(profile.gbnf, compiled)
      if (regex === undefined) return refuse('regular expressions')
      // Its dialect of regular expressions may differ from ours.
      return { fields: constraintField(regex, output.pattern), structured: 'partial' }
    }
    case 'tagged':
      if (usesOurGrammar(profile)) return ourGrammar(profile.gbnf, compiled)
      // How strictly it enforces the schemas is not reported.
      if (profile.structuralTags === true) return { fields: structuralTags(output), structured: 'partial' }
      return gbnf === undefined ? refuse('structural tags') : ourGrammar(gbnf, compiled)
    case 'json-object':
      if (!jsonObject) return refuse('JSON mode')
      if (writesJson(profile)) return ourGrammar(profile.gbnf, compiled)
      // The server does not report how strictly it enforces it.
      return { fields: outputStyles[outputStyle].json, structured: 'partial' }
    case 'json-schema':
      if (writesJson(profile)) return ourGrammar(profile.gbnf, compiled)
      if (!jsonSchema) return refuse('JSON Schema')
      // Servers enforce a part of JSON Schema, and do not report which.
      return { fields: outputStyles[outputStyle].schema(output), structured: 'partial' }
  }
}

/** In the form of vLLM and SGLang. */
function structuralTags({ structures, triggers }: Extract<OutputConstraint, { type: 'tagged' }>) {
  return { response_format: { type: 'structural_tag', structures, triggers } }
}

function ourGrammar(field: NonNullable<Profile['gbnf']>, compiled: CompiledGrammar | undefined): OutputFields {
  if (compiled === undefined) throw new Error('the grammar of the output has not been compiled')
  return { fields: constraintField(field, compiled.grammar), structured: compiled.enforcement }
}

type TakesGrammars = Profile & { readonly gbnf: NonNullable<Profile['gbnf']> }

/** Whether constraints are sent as our grammars. */
export function usesOurGrammar(profile: Profile): profile is TakesGrammars {
  return profile.takesOurGrammars === true && profile.gbnf !== undefined
}

/** Whether JSON is asked for by our grammars. */
function writesJson(profile: Profile): profile is TakesGrammars {
  return usesOurGrammar(profile) || (profile.prefersGrammars === true && profile.gbnf !== undefined)
}

/** The field of a pattern or grammar. */
export function constraintField(field: ConstraintField, text: string): Record<string, unknown> {
  return 'format' in field ? { response_format: { type: field.format, [field.key]: text } } : nested(field, text)
}

/** An object with a value at this path. */
function nested([first, ...rest]: readonly [string, ...string[]], value: unknown): Record<string, unknown> {
  const [next, ...others] = rest
  return { [first]: next === undefined ? value : nested([next, ...others], value) }
}

type Fields = Readonly<Record<string, unknown>>
type Schema = Extract<OutputConstraint, { type: 'json-schema' }>

/** The fields that ask a server for JSON, and for JSON of a schema. */
type OutputStyle = { readonly json: Fields; schema(output: Schema): Fields }

/** The styles of the kinds of servers and protocols. */
const outputStyles: Readonly<Record<Profile['outputStyle'], OutputStyle>> = {
  openai: {
    json: { response_format: { type: 'json_object' } },
    schema: ({ schema, strict, ...about }) => {
      return { response_format: { type: 'json_schema', json_schema: { ...described(about), schema, strict } } }
    },
  },
  // The older form, which these servers have kept.
  'json-object': {
    json: { response_format: { type: 'json_object' } },
    schema: ({ schema }) => ({ response_format: { type: 'json_object', schema: asObject(schema) } }),
  },
  'json-schema': {
    json: { json_schema: { type: 'object' } },
    schema: ({ schema }) => ({ json_schema: asObject(schema) }),
  },
  tgi: {
    json: { response_format: { type: 'json_object', value: { type: 'object' } } },
    schema: ({ schema }) => ({ response_format: { type: 'json_object', value: asObject(schema) } }),
  },
  responses: {
    json: { text: { format: { type: 'json_object' } } },
    schema: ({ schema, strict, ...about }) => {
      return { text: { format: { type: 'json_schema', ...described(about), schema: asObject(schema), strict } } }
    },
  },
  // The field is in `output_config`, beside the effort.
  messages: {
    json: { format: { type: 'json_schema', schema: { type: 'object' } } },
    schema: ({ schema }) => ({ format: { type: 'json_schema', schema: asObject(schema) } }),
  },
}

function described({ name = 'output', description }: Pick<Schema, 'name' | 'description'>): Fields {
  return { name, ...(description !== undefined && { description }) }
}

/** These protocols accept no `true` or `false` as a schema. */
function asObject(schema: JsonObject | boolean): JsonObject {
  if (typeof schema !== 'boolean') return schema
  return schema ? {} : { not: {} }
}
