import type { z } from 'zod'
import { head, page, promptProgress, timings, usage } from '../openai/replies.ts'
import { anyObject, anything, is, list, named, number, numbers, object, oneOf, text } from '../wire/json/shapes.ts'

const logprob = { token: text, token_id: number.optional(), logprob: number, bytes: numbers.nullable() }
const logprobs = named(
  'ChatLogprobs',
  object({
    content: list(object({ ...logprob, top_logprobs: list(object(logprob)) })).nullable(),
    refusal: list(anything).nullable(),
  }),
)
export type ChatLogprobs = z.input<typeof logprobs>
const call = { id: text, type: oneOf(['function', 'custom']) }
const calledFunction = { name: text, arguments: text }
const calledCustom = { name: text, input: text }
const said = {
  content: text.nullable(),
  refusal: text.nullable(),
  reasoning_content: text.nullable().optional(),
  reasoning: text.nullable().optional(),
  annotations: list(object({ type: is('url_citation'), url_citation: anyObject })).optional(),
}
const message = named(
  'ChatMessage',
  object({
    role: is('assistant'),
    ...said,
    tool_calls: list(
      object({ ...call, function: object(calledFunction).optional(), custom: object(calledCustom).optional() }),
    ).optional(),
    function_call: object(calledFunction).optional(),
  }),
)
export type ChatMessage = z.input<typeof message>
const finishReason = oneOf(['stop', 'length', 'tool_calls', 'content_filter', 'function_call'])
export type ChatFinishReason = z.input<typeof finishReason>
const chatShape = {
  ...head,
  object: is('chat.completion'),
  choices: list(
    object({ index: number, message, logprobs: logprobs.nullable(), finish_reason: finishReason, stop_reason: text.optional() }),
  ),
  usage,
  timings,
}
export const chatCompletion = named('ChatCompletion', object(chatShape))
export type ChatCompletion = z.input<typeof chatCompletion>
export const storedChat = named(
  'StoredChatCompletion',
  object({
    ...chatShape,
    request_id: text.nullable(),
    tools: list(anyObject).nullable(),
    tool_choice: anything,
    response_format: anyObject.nullable(),
    seed: number.nullable(),
    temperature: number.nullable(),
    top_p: number.nullable(),
    presence_penalty: number.nullable(),
    frequency_penalty: number.nullable(),
    service_tier: text.nullable(),
    input_user: text.nullable(),
    metadata: anyObject,
    input_messages: list(anyObject),
  }),
)
export type StoredChat = z.input<typeof storedChat>
export const storedChats = object({ object: is('list'), data: list(storedChat), ...page })
export const storedMessages = object({ object: is('list'), data: list(anyObject), ...page })
export type StoredMessages = z.input<typeof storedMessages>
export const deletedChat = object({ id: text, object: is('chat.completion.deleted'), deleted: is(true) })
export type DeletedChat = z.input<typeof deletedChat>
const delta = object({
  role: is('assistant').optional(),
  ...said,
  content: text.optional(),
  refusal: text.optional(),
  tool_calls: list(
    object({
      index: number,
      id: text.optional(),
      type: call.type.optional(),
      function: object(calledFunction).partial().optional(),
      custom: object(calledCustom).partial().optional(),
    }),
  ).optional(),
  function_call: object(calledFunction).partial().optional(),
})
export type ChatDelta = z.input<typeof delta>
export const chatChunk = named(
  'ChatCompletionChunk',
  object({
    ...head,
    object: is('chat.completion.chunk'),
    choices: list(
      object({
        index: number,
        delta,
        logprobs: logprobs.nullable(),
        finish_reason: finishReason.nullable(),
        stop_reason: text.optional(),
      }),
    ),
    usage: usage.nullable().optional(),
    timings: timings.optional(),
    prompt_progress: promptProgress.optional(),
  }),
)
