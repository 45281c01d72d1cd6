import type { JsonObject, OutputConstraint } from '../../../../contract/request.ts'
import type { Profile } from '../../servers/profile.ts'

type Fields = Readonly<Record<string, unknown>>
type Schema = Extract<OutputConstraint, { type: 'json-schema' }>

/** The fields that ask a server for JSON, and for JSON of a schema. */
type OutputStyle = { readonly json: Fields; schema(output: Schema): Fields }

/** The styles of the kinds of servers and protocols. */
export const outputStyles: Readonly<Record<Profile['outputStyle'], OutputStyle>> = {
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
    json: {},
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
