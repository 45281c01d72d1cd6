import type { DecodedCall } from '../../contract/dialect.ts'
import type { CanonicalPath } from '../../contract/field.ts'
import { plainChat, type ToolUse } from '../../contract/request.ts'
import { indexFields } from '../wire/field-table.ts'
import { unknownKeys } from '../wire/unknown-keys.ts'
import { bodyReader } from '../wire/validate.ts'
import { requestPerItem, withModelId } from './batch.ts'
import { decodeCommon } from './decode-common.ts'
import { decodeMessages } from './decode-messages.ts'
import { decodeTools } from './decode-tools.ts'
import { batchChatFields, chatFields, nestedFields } from './fields.ts'
import { nameStackField } from './name-field.ts'
import { batchChatSchema, type CommonWire, chatSchema, type ToolWire, type WireMessage } from './schema.ts'
import { writeToolPrompt } from './tool-prompt.ts'
import { decodeToolgroups } from './toolgroups.ts'

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
