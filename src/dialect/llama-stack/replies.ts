import type { z } from 'zod'
import { anyObject, anything, either, list, named, number, object, oneOf, text } from '../wire/json/shapes.ts'

const call = object({ call_id: text, tool_name: text, arguments: anything, arguments_json: text })
export type StackCall = z.input<typeof call>
const stopReason = oneOf(['end_of_turn', 'end_of_message', 'out_of_tokens'])
export type StackStopReason = z.input<typeof stopReason>
const logprobs = { logprobs: list(object({ logprobs_by_token: anyObject })).optional() }
const metrics = { metrics: list(object({ metric: text, value: number, unit: text })) }
const chatShape = {
  completion_message: object({ role: text, content: text, stop_reason: stopReason, tool_calls: list(call) }),
  ...logprobs,
}
const completionShape = { content: text, stop_reason: stopReason, ...logprobs }

const batchChat = object(chatShape)
export type BatchChat = z.input<typeof batchChat>
const batchCompletion = object(completionShape)
export type BatchCompletion = z.input<typeof batchCompletion>
export const chat = named('StackChat', object({ ...chatShape, ...metrics }))
export type StackChat = z.input<typeof chat>
export const chatChunk = named('StackChatChunk', object({ event: anyObject }).catchall(anything))
export const completion = named('StackCompletion', object({ ...completionShape, ...metrics }))
export type StackCompletion = z.input<typeof completion>
export const completionChunk = named('StackCompletionChunk', object({ delta: text }).catchall(anything))
export const chats = object({ batch: list(batchChat) })
export type StackChats = z.input<typeof chats>
export const completions = object({ batch: list(batchCompletion) })
export type StackCompletions = z.input<typeof completions>
export const embeddings = object({ embeddings: list(list(number)) })
export type StackEmbeddings = z.input<typeof embeddings>
export const ranking = object({ data: list(object({ index: number, relevance_score: number })) })
export type StackRanking = z.input<typeof ranking>

const modelShape = {
  identifier: text,
  provider_id: text,
  provider_resource_id: text,
  type: text,
  model_type: oneOf(['llm', 'embedding', 'rerank']),
  metadata: anyObject,
}
export const model = named('StackModel', object(modelShape))
export type StackModel = z.input<typeof model>
const listed = { ...modelShape, id: text, object: text, created: number, owned_by: text, custom_metadata: anyObject }
export const modelList = named('StackModelList', object({ data: list(object(listed)) }))
export type StackModelList = z.input<typeof modelList>
export const provider = named(
  'Provider',
  object({ api: text, provider_id: text, provider_type: text, config: anyObject, health: anyObject }),
)
export type Provider = z.input<typeof provider>
export const providers = object({ data: list(provider) })
export const routes = object({ data: list(object({ route: text, method: text, provider_types: list(text) })) })
export type Routes = z.input<typeof routes>

/** Why a request failed: a text, or the places of the body that were wrong, as FastAPI lists them. */
const detail = either([text, object({ errors: list(object({ loc: list(anything), msg: text, type: text })) })])
export const error = named('StackError', object({ error: object({ detail }) }))
export type StackError = z.input<typeof error>
