import type { z } from 'zod'
import { anyObject, anything, flag, is, list, named, number, object, oneOf, text } from '../wire/json/shapes.ts'

const types = [
  'text',
  'thinking',
  'tool_use',
  'server_tool_use',
  'mcp_tool_use',
  // The results of the server's tools.
  'web_search_tool_result',
  'web_fetch_tool_result',
  'code_execution_tool_result',
  'bash_code_execution_tool_result',
  'mcp_tool_result',
] as const
const block = named('ContentBlock', object({ type: oneOf(types) }).catchall(anything))
export type ContentBlock = z.input<typeof block>

export const message = named(
  'Message',
  object({
    id: text,
    type: is('message'),
    role: is('assistant'),
    model: text,
    container: anyObject.nullable(),
    content: list(block),
    diagnostics: anyObject.nullable(),
    stop_details: anyObject.nullable(),
    stop_reason: text.nullable(),
    stop_sequence: text.nullable(),
    usage: object({ input_tokens: number, output_tokens: number }).catchall(anything),
  }),
)
export type WireMessage = z.input<typeof message>
export const messageEvent = named('MessageEvent', object({ type: text, message: message.optional() }).catchall(anything))
export const count = object({ input_tokens: number, estimated: flag.optional() })

export const model = named(
  'AnthropicModel',
  object({
    type: is('model'),
    id: text,
    display_name: text,
    created_at: text,
    max_input_tokens: number.nullable(),
    max_tokens: number.nullable(),
  }).catchall(anything),
)
export type AnthropicModel = z.input<typeof model>
const page = { has_more: flag, first_id: text.nullable(), last_id: text.nullable() }
export const modelList = named('AnthropicModelList', object({ data: list(model), ...page }))
export type AnthropicModelList = z.input<typeof modelList>
const batchCounts = { processing: number, succeeded: number, errored: number, canceled: number, expired: number }
export const messageBatch = named(
  'MessageBatch',
  object({
    id: text,
    type: is('message_batch'),
    processing_status: oneOf(['in_progress', 'canceling', 'ended']),
    request_counts: object(batchCounts),
    created_at: text,
    ended_at: text.nullable(),
    expires_at: text,
    archived_at: text.nullable(),
    cancel_initiated_at: text.nullable(),
    results_url: text.nullable(),
  }),
)
export type MessageBatch = z.input<typeof messageBatch>
export const messageBatchList = named('MessageBatchList', object({ data: list(messageBatch), ...page }))
export type MessageBatchList = z.input<typeof messageBatchList>
export const messageResult = named('MessageBatchResult', object({ custom_id: text, result: anyObject }))
export const deletedMessageBatch = object({ id: text, type: is('message_batch_deleted') })
export type DeletedMessageBatch = z.input<typeof deletedMessageBatch>
export const file = named(
  'AnthropicFile',
  object({
    type: is('file'),
    id: text,
    filename: text,
    mime_type: text,
    size_bytes: number,
    created_at: text,
    downloadable: flag,
  }),
)
export type AnthropicFile = z.input<typeof file>
export const fileList = named('AnthropicFileList', object({ data: list(file), ...page }))
export type AnthropicFileList = z.input<typeof fileList>
export const deletedFile = object({ id: text, type: is('file_deleted') })
export type DeletedAnthropicFile = z.input<typeof deletedFile>

export const error = named(
  'AnthropicError',
  object({ type: is('error'), error: object({ type: text, message: text }), request_id: text.nullable() }),
)
export type AnthropicError = z.input<typeof error>
