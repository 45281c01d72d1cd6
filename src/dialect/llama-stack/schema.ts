import { z } from 'zod'
import { cancelShape } from '../wire/cancel-keys.ts'
import { dictionary, jsonObject, list, looseObject } from '../wire/first-fault.ts'
import { jsonSchema } from '../wire/json-schema.ts'
import {
  above,
  absentIfEmpty,
  between,
  flag,
  integerBetween,
  integerFrom,
  nonEmptyText,
  stopList,
  text,
  unlimitedOr,
} from '../wire/wire-types.ts'

const textItem = looseObject({ type: z.literal('text'), text: z.string() })
const imageUrl = looseObject({ uri: z.string() })
const image = looseObject({ url: imageUrl.nullish(), data: text })
const imageItem = looseObject({ type: z.literal('image'), image })
const contentItem = z.discriminatedUnion('type', [textItem, imageItem])

/** Text and images: a string, one item, or a list of items. */
export type WireContent = z.output<typeof content>
/** A text or an image. */
export type WireItem = z.output<typeof contentItem>
const content = z.union([z.string(), contentItem, list(contentItem, { error: 'an array of content items' })])

const toolCall = looseObject({
  call_id: z.string(),
  tool_name: nonEmptyText,
  arguments: z.union([z.string(), jsonObject]).nullish(),
  arguments_json: text,
})
/** A call of an earlier turn. */
export type WireToolCall = z.output<typeof toolCall>

/** `context` follows the content for the model; it is retrieved text, for example. */
const userMessage = looseObject({ role: z.literal('user'), content, context: content.nullish() })
const systemMessage = looseObject({ role: z.literal('system'), content })
const toolResponseMessage = looseObject({ role: z.literal('tool'), call_id: z.string(), tool_name: text, content })
const completionMessage = looseObject({
  role: z.literal('assistant'),
  content: content.nullish(),
  stop_reason: z.enum(['end_of_turn', 'end_of_message', 'out_of_tokens']).nullish(),
  tool_calls: list(toolCall).nullish(),
})
const message = z.discriminatedUnion('role', [userMessage, systemMessage, toolResponseMessage, completionMessage])
const conversation = list(message, { error: 'an array of messages' }).min(1, { error: 'at least one message' })

export type WireMessage = z.output<typeof message>

const strategies = {
  greedy: looseObject({ type: z.literal('greedy') }),
  top_p: looseObject({ type: z.literal('top_p'), temperature: above(0), top_p: between(0, 1) }),
  top_k: looseObject({
    type: z.literal('top_k'),
    top_k: z.int({ error: 'an integer of at least 1' }).min(1, { error: 'an integer of at least 1' }),
  }),
}
const samplingParams = looseObject({
  strategy: z.discriminatedUnion('type', [strategies.greedy, strategies.top_p, strategies.top_k]).nullish(),
  max_tokens: unlimitedOr(0),
  repetition_penalty: above(0),
  stop: stopList(nonEmptyText, 'an array of non-empty strings').nullish(),
})

const responseFormats = {
  json_schema: looseObject({ type: z.literal('json_schema'), json_schema: jsonSchema }),
  grammar: looseObject({ type: z.literal('grammar'), bnf: z.union([z.string(), jsonObject]) }),
}

const promptFormat = z.enum(['json', 'function_tag', 'python_list'])
/** How the prompt presents tools and calls. */
export type PromptFormat = z.output<typeof promptFormat>

const toolConfig = looseObject({
  /** A choice, or the name of a tool. */
  tool_choice: nonEmptyText.nullish(),
  tool_prompt_format: promptFormat.nullish(),
  system_message_behavior: z.enum(['append', 'replace']).nullish(),
})

const toolParameter = looseObject({
  param_type: nonEmptyText,
  description: text,
  required: flag,
  default: z.unknown().optional(),
})
export type WireParameter = z.output<typeof toolParameter>

const maxParameters = { count: 1000, error: 'an object of at most 1000 parameters' }
const tool = looseObject({
  tool_name: nonEmptyText,
  description: text,
  parameters: dictionary(z.string(), toolParameter, { max: maxParameters }).nullish(),
})
export type WireTool = z.output<typeof tool>

const logprobs = looseObject({ top_k: integerBetween(0, 20).nullish() })

/** The fields that completions and conversations share. */
const commonShape = {
  model_id: nonEmptyText,
  sampling_params: samplingParams.nullish(),
  response_format: absentIfEmpty(z.discriminatedUnion('type', [responseFormats.json_schema, responseFormats.grammar])),
  logprobs: logprobs.nullish(),
  ...cancelShape,
}
const toolShape = {
  tools: list(tool).nullish(),
  tool_choice: z.enum(['auto', 'required', 'none']).nullish(),
  tool_prompt_format: promptFormat.nullish(),
  tool_config: toolConfig.nullish(),
}

const maxBatch = 128
const tooMany = { count: maxBatch, error: `an array of at most ${maxBatch} items` }
const atLeastOne = { error: 'at least one item' }

const toolgroup = z.union([nonEmptyText, looseObject({ name: nonEmptyText })])
export const chatSchema = looseObject({
  ...commonShape,
  ...toolShape,
  messages: conversation,
  stream: flag,
  toolgroups: list(toolgroup, { error: 'an array of names of toolgroups' }).nullish(),
})
export const completionSchema = looseObject({ ...commonShape, content, stream: flag })
export const batchChatSchema = looseObject({
  ...commonShape,
  ...toolShape,
  messages_batch: list(conversation, { error: 'an array of conversations', max: tooMany }).min(1, atLeastOne),
})
export const batchCompletionSchema = looseObject({
  ...commonShape,
  content_batch: list(content, { error: 'an array of contents', max: tooMany }).min(1, atLeastOne),
})

const maxInputs = 2048
export const embeddingsSchema = looseObject({
  model_id: nonEmptyText,
  contents: list(z.union([nonEmptyText, contentItem]), {
    error: 'an array of non-empty strings, or of content items',
    max: { count: maxInputs, error: `at most ${maxInputs} contents` },
  }).min(1, { error: 'at least one content' }),
  output_dimension: integerFrom(1),
})

/** The body of a conversation. */
export type ChatWire = z.output<typeof chatSchema>
/** The settings that all generating requests share. */
export type CommonWire = Omit<Pick<z.output<typeof completionSchema>, keyof typeof commonShape>, 'model_id'>
/** The fields about tools. */
export type ToolWire = Pick<z.output<typeof chatSchema>, keyof typeof toolShape>
