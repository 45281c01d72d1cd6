import { anyObject, anything, flag, is, list, named, number, object, oneOf, text } from '../wire/json/shapes.ts'

/** The results of the server's tools. */
const results = ['web_search', 'web_fetch', 'code_execution', 'bash_code_execution', 'mcp'].map((name) => `${name}_tool_result`)
const types = ['text', 'thinking', 'tool_use', 'server_tool_use', 'mcp_tool_use', ...results]
const block = named('ContentBlock', object({ type: oneOf(types) }).catchall(anything))

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
const page = { has_more: flag, first_id: text.nullable(), last_id: text.nullable() }
export const modelList = named('AnthropicModelList', object({ data: list(model), ...page }))
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
export const fileList = named('AnthropicFileList', object({ data: list(file), ...page }))
export const deletedFile = object({ id: text, type: is('file_deleted') })
