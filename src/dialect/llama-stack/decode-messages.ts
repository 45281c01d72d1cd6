import type { Message, OutputPart, TextPart, ToolCallPart } from '../../contract/request.ts'
import { callInput } from '../wire/call-input.ts'
import type { DecodedMessages, MessagePaths } from '../wire/message-paths.ts'
import { decodeContent } from './decode-content.ts'
import type { WireMessage, WireToolCall } from './schema.ts'

/** Decodes a conversation at a path such as `messages`. Throws as `decodeContent` does. */
export function decodeMessages(wire: readonly WireMessage[], path: string): DecodedMessages {
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
