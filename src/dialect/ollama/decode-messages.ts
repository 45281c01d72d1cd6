import type { ContentPart, MediaPart, Message, OutputPart, ToolCallPart } from '../../contract/request.ts'
import { CallIds } from '../wire/call-ids.ts'
import { callInput } from '../wire/call-input.ts'
import { mediaByUrl, mediaInBase64 } from '../wire/media-part.ts'
import type { DecodedMessages, MessagePaths } from '../wire/message-paths.ts'
import type { MessageWire } from './schema.ts'

type Placed<Part> = { readonly part: Part; readonly at: string }

/** Decodes a conversation. Calls and results without ids get some; `exact`: arguments whose numbers exceed a double. */
export function decodeMessages(wire: readonly MessageWire[], exact: ReadonlyMap<string, string>): DecodedMessages {
  const ids = new CallIds()
  const decoded = wire.map((message, index) => decodeMessage(message, { ids, exact, index }))
  return { messages: decoded.map(({ message }) => message), paths: decoded.map(({ paths }) => paths) }
}

type Around = { readonly ids: CallIds; readonly exact: ReadonlyMap<string, string>; readonly index: number }

function decodeMessage(wire: MessageWire, around: Around): { readonly message: Message; readonly paths: MessagePaths } {
  const path = `messages[${around.index}]`
  const content = decodeContent(wire, path)
  switch (wire.role) {
    case 'user':
      around.ids.endTurn()
      return placed(path, content, (parts) => ({ role: 'user', content: parts }))
    case 'system':
      return placed(path, content, (parts) => ({ role: 'system', content: parts }))
    case 'tool': {
      const name = wire.tool_name ?? undefined
      const toolCallId = around.ids.ofResult({ id: wire.tool_call_id, name }, `result_${around.index}`)
      return placed(path, content, (parts) => ({
        role: 'tool',
        content: parts,
        toolCallId,
        ...(name !== undefined && name !== '' && { name }),
      }))
    }
    case 'assistant': {
      const calls = decodeCalls(wire, path, around)
      // Replies with calls have an empty text.
      const shown = calls.length > 0 && (wire.content ?? '') === '' ? content.filter(({ part }) => part.type !== 'text') : content
      const { thinking } = wire
      const thought: readonly Placed<OutputPart>[] = thinking
        ? [{ part: { type: 'reasoning', text: thinking }, at: `${path}.thinking` }]
        : []
      return placed<OutputPart>(path, [...thought, ...shown, ...calls], (parts) => ({ role: 'assistant', parts }))
    }
  }
}

function placed<Part>(
  path: string,
  parts: readonly Placed<Part>[],
  make: (parts: readonly Part[]) => Message,
): { readonly message: Message; readonly paths: MessagePaths } {
  return { message: make(parts.map(({ part }) => part)), paths: { message: path, parts: parts.map(({ at }) => at) } }
}

/** The images, and then the text, which is left out only beside images. */
function decodeContent({ content, images }: MessageWire, path: string): readonly Placed<ContentPart>[] {
  const media = (images ?? []).map((image, index) => ({ part: decodeImage(image), at: `${path}.images[${index}]` }))
  const text = content ?? ''
  if (text === '' && media.length > 0) return media
  return [...media, { part: { type: 'text', text }, at: `${path}.content` }]
}

/** Some clients send a `data:` URL. */
export function decodeImage(image: string): MediaPart {
  return /^data:/i.test(image) ? mediaByUrl('image', image) : mediaInBase64('image', image)
}

function decodeCalls({ tool_calls }: MessageWire, path: string, { ids, exact, index }: Around): readonly Placed<ToolCallPart>[] {
  return (tool_calls ?? []).map(({ id, function: { name, arguments: given } }, position) => {
    const at = `${path}.tool_calls[${position}]`
    return {
      part: {
        type: 'tool-call',
        id: ids.ofCall({ id, name }, `call_${index}_${position}`),
        name,
        input: exact.get(`${at}.function.arguments`) ?? callInput(given),
      },
      at,
    }
  })
}
