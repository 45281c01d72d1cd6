import { anyObject, anything, list, named, number, object, oneOf, text } from '../wire/json/shapes.ts'

const call = object({ call_id: text, tool_name: text, arguments: anything, arguments_json: text })
const stopReason = oneOf(['end_of_turn', 'end_of_message', 'out_of_tokens'])
const logprobs = { logprobs: list(object({ logprobs_by_token: anyObject })).optional() }
const metrics = { metrics: list(object({ metric: text, value: number, unit: text })) }
const chatShape = {
  completion_message: object({ role: text, content: text, stop_reason: stopReason, tool_calls: list(call) }),
  ...logprobs,
}
const completionShape = { content: text, stop_reason: stopReason, ...logprobs }

export const chat = named('StackChat', object({ ...chatShape, ...metrics }))
export const chatChunk = named('StackChatChunk', object({ event: anyObject }).catchall(anything))
export const completion = named('StackCompletion', object({ ...completionShape, ...metrics }))
export const completionChunk = named('StackCompletionChunk', object({ delta: text }).catchall(anything))
export const chats = object({ batch: list(object(chatShape)) })
export const completions = object({ batch: list(object(completionShape)) })
export const embeddings = object({ embeddings: list(list(number)) })

const modelShape = {
  identifier: text,
  provider_id: text,
  provider_resource_id: text,
  type: text,
  model_type: oneOf(['llm', 'embedding', 'rerank']),
  metadata: anyObject,
}
export const model = named('StackModel', object(modelShape))
const listed = { ...modelShape, id: text, object: text, created: number, owned_by: text, custom_metadata: anyObject }
export const modelList = named('StackModelList', object({ data: list(object(listed)) }))
export const provider = named(
  'Provider',
  object({ api: text, provider_id: text, provider_type: text, config: anyObject, health: anyObject }),
)
export const providers = object({ data: list(provider) })
export const routes = object({ data: list(object({ route: text, method: text, provider_types: list(text) })) })
