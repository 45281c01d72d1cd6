import type { DecodedCall } from '../../contract/dialect.ts'
import { AppError } from '../../contract/errors.ts'
import type { CanonicalPath } from '../../contract/field.ts'
import {
  type Message,
  type OutputPart,
  plainChat,
  plainToolUse,
  type TextPart,
  type ToolCallPart,
  type ToolUse,
} from '../../contract/request.ts'
import { callInput } from '../wire/call-input.ts'
import { indexFields } from '../wire/field-table.ts'
import type { DecodedMessages, MessagePaths } from '../wire/message-paths.ts'
import { preview } from '../wire/preview.ts'
import { unknownKeys } from '../wire/unknown-keys.ts'
import { bodyReader } from '../wire/validate.ts'
import { requestPerItem, withModelId } from './batch.ts'
import { decodeCommon } from './decode-common.ts'
import { decodeContent } from './decode-content.ts'
import { decodeTools } from './decode-tools.ts'
import { batchChatFields, chatFields, nestedFields } from './fields.ts'
import { nameStackField } from './name-field.ts'
import { ownName } from './own-names.ts'
import {
  batchChatSchema,
  type ChatWire,
  type CommonWire,
  chatSchema,
  type ToolWire,
  type WireMessage,
  type WireToolCall,
} from './schema.ts'
import { writeToolPrompt } from './tool-prompt.ts'

/** Requests in canonical form: one, or one for each item of a batch. */
export type DecodedRequests = Pick<DecodedCall, 'requests' | 'stream' | 'ignored' | 'nameOf'>

const nested = indexFields(nestedFields)
const readChat = bodyReader(chatSchema, chatFields, unknownKeys(chatSchema, nested))
const readBatch = bodyReader(batchChatSchema, batchChatFields, unknownKeys(batchChatSchema, nested))

/** Throws `invalid-request` or `unsupported-field`, with `param`, for a body that cannot be served completely. */
export function decodeChat(body: unknown, id: string, serverTools?: ReadonlySet<string>): DecodedRequests {
  const { wire, ignored } = readChat(body)
  const conversations = [{ path: 'messages', messages: wire.messages }]
  return decodeConversations(wire, {
    id,
    model: wire.model_id,
    conversations,
    input: 'messages',
    stream: wire.stream ?? false,
    ignored,
    ...decodeToolgroups(wire, serverTools),
  })
}

/** As `decodeChat`, for a batch of conversations with the same settings. */
export function decodeBatchChat(body: unknown, id: string): DecodedRequests {
  const { wire, ignored } = readBatch(withModelId(body))
  const conversations = wire.messages_batch.map((messages, index) => ({ path: `messages_batch[${index}]`, messages }))
  return decodeConversations(wire, {
    id,
    model: wire.model_id,
    conversations,
    input: 'messages_batch',
    stream: false,
    ignored,
  })
}

type Conversations = {
  readonly id: string
  readonly model: string
  readonly conversations: readonly { readonly path: string; readonly messages: readonly WireMessage[] }[]
  readonly input: string
  readonly stream: boolean
  readonly ignored: readonly string[]
  readonly toolUse?: ToolUse
}

function decodeConversations(wire: CommonWire & ToolWire, decoding: Conversations): DecodedRequests {
  const { id, model, conversations, input, stream, toolUse } = decoding
  const tools = decodeTools(wire, toolUse !== undefined)
  const common = decodeCommon(wire)
  const decoded = conversations.map(({ path, messages }) => writeToolPrompt(decodeMessages(messages, path), tools))
  const requests = requestPerItem(decoded, id, ({ messages, toolFormat }, requestId) => ({
    id: requestId,
    model,
    ...common,
    prompt: {
      type: 'chat' as const,
      ...plainChat,
      messages,
      tools: tools.tools,
      ...(toolFormat !== undefined && { toolFormat }),
    },
    toolChoice: tools.toolChoice,
    ...(toolUse !== undefined && { toolUse }),
  }))
  // A path does not identify the item of a batch.
  const paths = decoded.length === 1 ? decoded[0]?.paths : undefined
  return {
    requests,
    stream,
    ignored: decoding.ignored,
    nameOf: (path: CanonicalPath) => nameStackField(path, { wire, input, ...(paths !== undefined && { paths }) }),
  }
}

type GroupsWire = Pick<ChatWire, 'toolgroups' | 'tool_config' | 'tool_prompt_format'>

/**
 * The server tools that a request names by group. Throws for a group that is missing, or not for this caller, and in combination with a
 * format that presents only the caller's tools.
 */
function decodeToolgroups(wire: GroupsWire, available: ReadonlySet<string> | undefined): Pick<Using, 'toolUse'> {
  const groups = wire.toolgroups ?? []
  if (groups.length === 0) return {}
  const format = wire.tool_config?.tool_prompt_format ?? wire.tool_prompt_format
  if (format) {
    const message = `toolgroups need the model's own format of tools: leave tool_prompt_format ${preview(format)} out`
    throw new AppError('unsupported-field', message, { param: 'toolgroups' })
  }
  const names = groups.map((group, index) => {
    const given = typeof group === 'string' ? group : group.name
    const name = ownName(given)
    if (name !== given && available?.has(name) === true) return name
    const param = typeof group === 'string' ? `toolgroups[${index}]` : `toolgroups[${index}].name`
    const message = `${param} ${preview(given)} is not a tool of this server that you may use: leave it out`
    throw new AppError('unsupported-field', message, { param })
  })
  return { toolUse: { ...plainToolUse, names: [...new Set(names)], hidesCalls: true } }
}

type Using = { readonly toolUse?: ToolUse }

/** Decodes a conversation at a path such as `messages`. Throws as `decodeContent` does. */
function decodeMessages(wire: readonly WireMessage[], path: string): DecodedMessages {
  const decoded = wire.map((message, index) => decodeMessage(message, `${path}[${index}]`))
  return { messages: decoded.map(({ message }) => message), paths: decoded.map(({ paths }) => paths) }
}

function decodeMessage(wire: WireMessage, path: string): { readonly message: Message; readonly paths: MessagePaths } {
  const { parts: content, paths: parts } = decodeContent(wire.content ?? [], `${path}.content`)
  const paths = { message: path, parts }
  switch (wire.role) {
    case 'system':
      return { message: { role: 'system', content }, paths }
    case 'user': {
      if (wire.context === undefined || wire.context === null) return { message: { role: 'user', content }, paths }
      const context = decodeContent(wire.context, `${path}.context`)
      const all = [...content, blankLine, ...context.parts]
      return {
        message: { role: 'user', content: all },
        paths: { message: path, parts: [...parts, `${path}.context`, ...context.paths] },
      }
    }
    case 'tool': {
      const name = wire.tool_name ?? undefined
      return { message: { role: 'tool', content, toolCallId: wire.call_id, ...(name !== undefined && { name }) }, paths }
    }
    case 'assistant': {
      const calls = (wire.tool_calls ?? []).map(decodeCall)
      // Replies without text have an empty one.
      const shown = calls.length > 0 && wire.content === '' ? [] : content
      const callPaths = calls.map((_, index) => `${path}.tool_calls[${index}]`)
      const all: readonly OutputPart[] = [...shown, ...calls]
      return {
        message: { role: 'assistant', parts: all },
        paths: { message: path, parts: [...parts.slice(0, shown.length), ...callPaths] },
      }
    }
  }
}

const blankLine: TextPart = { type: 'text', text: '\n\n' }

/** The JSON of a call is preferred to its values, which may have lost precision. */
function decodeCall({ call_id, tool_name, arguments: given, arguments_json: json }: WireToolCall): ToolCallPart {
  return { type: 'tool-call', id: call_id, name: tool_name, input: callInput(json ?? given) }
}
