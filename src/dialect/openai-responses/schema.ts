import { z } from 'zod'
import { isObject } from '../../base/json.ts'
import { commonShape } from '../openai/common-schema.ts'
import { metadata } from '../openai/lists.ts'
import { chatServerShape } from '../openai/server-fields.ts'
import { jsonObject, list, looseObject, openObject } from '../wire/first-fault.ts'
import { jsonSchema } from '../wire/json-schema.ts'
import { absentIfEmpty, flag, integerBetween, integerFrom, nonEmptyText, text, unlimitedOr } from '../wire/wire-types.ts'
import { wireItem } from './item-schema.ts'
import { tool, toolChoice } from './tool-schema.ts'

const maxTopLogprobs = 20
const maxTools = 2048
const budget = z.int({ error: 'an integer' }).nullish()

const conversationObject = looseObject({ id: nonEmptyText })
const reasoningObject = looseObject({
  effort: nonEmptyText.nullish(),
  summary: nonEmptyText.nullish(),
  generate_summary: nonEmptyText.nullish(),
  context: nonEmptyText.nullish(),
})
const formats = {
  text: looseObject({ type: z.literal('text') }),
  json_object: looseObject({ type: z.literal('json_object') }),
  json_schema: looseObject({
    type: z.literal('json_schema'),
    name: text,
    description: text,
    schema: jsonSchema,
    strict: flag,
  }),
}
const textObject = looseObject({
  format: absentIfEmpty(z.discriminatedUnion('type', [formats.text, formats.json_object, formats.json_schema])),
  verbosity: nonEmptyText.nullish(),
})
const streamOptions = looseObject({ include_obfuscation: flag })
const managementEntry = looseObject({ type: z.string(), compact_threshold: integerFrom(1) })

const conversation = z.union([nonEmptyText, conversationObject]).nullish()
const input = z.union([z.string(), list(wireItem, { error: 'an array of items' })]).nullish()

/** The references of a body; its other fields are checked later. */
export const referencesSchema = looseObject({
  model: nonEmptyText,
  previous_response_id: nonEmptyText.nullish(),
  conversation,
  input: z.union([z.string(), list(looseObject({}), { error: 'an array of items', accepts: isObject })]).nullish(),
  store: flag,
  background: flag,
  stream: flag,
})

// A response is one answer, without options for chat streams.
const shared = z.object(commonShape).omit({ n: true, stream_options: true }).shape

/** The body of `POST /v1/responses`. Refused fields are missing: the field table refuses them with any type. */
export const responseSchema = looseObject({
  ...shared,
  ...chatServerShape,
  input,
  instructions: text,
  previous_response_id: nonEmptyText.nullish(),
  conversation,
  store: flag,
  background: flag,

  tools: list(tool, { error: 'an array of tools', max: { count: maxTools, error: `at most ${maxTools} tools` } }).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: flag,
  max_tool_calls: integerFrom(0),

  text: textObject.nullish(),
  reasoning: reasoningObject.nullish(),
  include: list(z.string(), { max: { count: 256, error: 'an array of at most 256 names' } }).nullish(),
  max_output_tokens: unlimitedOr(1),
  top_logprobs: integerBetween(0, maxTopLogprobs).nullish(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
  context_management: list(managementEntry, { error: 'an array of objects' }).nullish(),
  stream_options: streamOptions.nullish(),

  enable_thinking: flag,
  reasoning_budget_tokens: budget,
  reasoning_budget: budget,
  thinking_budget: budget,
  thinking_token_budget: budget,
  thinking_budget_tokens: budget,
  reasoning_budget_message: text,
  thinking_budget_message: text,
  add_bos_token: flag,
  prompt_template: text,
  template_vars: jsonObject.nullish(),
  chat_template_kwargs: jsonObject.nullish(),

  metadata,
  client_metadata: jsonObject.nullish(),
  prompt_cache_key: text,
  prompt_cache_options: openObject({ comparison_response_id: text }).nullish(),
  prompt_cache_retention: text,
  safety_identifier: text,
  service_tier: text,
})

/** A request body with valid types and ranges; decoding finds contradictions. */
export type ResponseWire = z.output<typeof responseSchema>
