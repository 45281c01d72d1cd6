import { z } from 'zod'
import { dictionary, list, looseObject } from '../wire/first-fault.ts'
import { flag, integerBetween, integerFrom, nonEmptyText, numberBetween, text, unlimitedOr } from '../wire/wire-types.ts'
import { reasoningOptions } from './models.ts'

const names = list(nonEmptyText, { error: 'an array of names' })
const inputItem = z.discriminatedUnion('type', [
  // LM Studio's documentation has both names of a text.
  looseObject({ type: z.enum(['message', 'text']), content: z.string() }),
  looseObject({ type: z.literal('image'), data_url: nonEmptyText }),
])
const integration = z.union([
  nonEmptyText,
  z.discriminatedUnion('type', [
    looseObject({ type: z.literal('plugin'), id: nonEmptyText, allowed_tools: names.nullish() }),
    looseObject({
      type: z.literal('ephemeral_mcp'),
      server_label: nonEmptyText,
      server_url: nonEmptyText,
      allowed_tools: names.nullish(),
      headers: dictionary(nonEmptyText, z.string()).nullish(),
    }),
  ]),
])
const responseId = z.string({ error: 'the response_id of an earlier answer' }).startsWith('resp_')

/** The body of `POST /api/v1/chat`. */
export const chatSchema = looseObject({
  model: nonEmptyText,
  input: z.union([z.string(), list(inputItem, { error: 'an array of items' })]),
  system_prompt: text,
  previous_response_id: responseId.nullish(),
  store: flag,
  stream: flag,
  temperature: numberBetween(0, 2).nullish(),
  top_p: numberBetween(0, 1).nullish(),
  top_k: integerFrom(0),
  min_p: numberBetween(0, 1).nullish(),
  repeat_penalty: numberBetween(0, 2).nullish(),
  max_output_tokens: unlimitedOr(1),
  reasoning: z.enum(reasoningOptions).nullish(),
  context_length: integerFrom(1),
  integrations: list(integration, { error: 'an array of integrations' }).nullish(),
})
export type ChatWire = z.output<typeof chatSchema>
export type Integration = z.output<typeof integration>

const maxBatch = 1_048_576

/** The body of `POST /api/v1/models/load`. Refused fields are missing: the field table refuses them with any type. */
export const loadSchema = looseObject({
  model: nonEmptyText,
  context_length: integerFrom(1),
  eval_batch_size: integerBetween(1, maxBatch).nullish(),
  flash_attention: flag,
  echo_load_config: flag,
})

/** The body of `POST /api/v1/models/unload`. */
export const unloadSchema = looseObject({ instance_id: nonEmptyText })

/** The body of `POST /api/v1/models/download`. */
export const downloadSchema = looseObject({ model: nonEmptyText, quantization: nonEmptyText.nullish() })
