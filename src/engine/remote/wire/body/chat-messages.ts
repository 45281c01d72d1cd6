import { objectText } from '../../../../canonical/object-text.ts'
import { bytesOf } from '../../../../contract/media.ts'
import type { ContentPart, MediaPart, Message } from '../../../../contract/request.ts'
import { type TemplateTurn, toTurns } from '../../../../model-text/template/turn.ts'
import type { Profile } from '../../servers/profile.ts'
import { speakerRole } from './speaker-role.ts'

/** A conversation in OpenAI's format. A result inside an assistant's turn becomes a separate message, which all servers understand. */
export function toWireMessages(messages: readonly Message[], profile: Pick<Profile, 'developerRole'>): Record<string, unknown>[] {
  return toTurns(messages).map((turn) => toWireMessage(turn, profile))
}

function toWireMessage(message: TemplateTurn, profile: Pick<Profile, 'developerRole'>): Record<string, unknown> {
  const named = message.name === undefined ? {} : { name: message.name }
  switch (message.role) {
    case 'system':
    case 'developer':
    case 'user': {
      const role = speakerRole(message.role, profile)
      // The usual case; spreading an empty object would take as long as the rest.
      if (message.name === undefined) return { role, content: toContent(message.content) }
      return { role, content: toContent(message.content), ...named }
    }
    case 'tool':
      return { role: 'tool', tool_call_id: message.toolCallId, content: toContent(message.content), ...named }
    case 'assistant': {
      const { content, reasoning, toolCalls } = message
      return {
        role: 'assistant',
        content: content.length === 0 ? (toolCalls.length === 0 ? '' : null) : toContent(content),
        // Both names: servers know one or the other.
        ...(reasoning !== undefined && { reasoning_content: reasoning, reasoning }),
        ...(toolCalls.length > 0 && {
          tool_calls: toolCalls.map(({ id, name, input }) => {
            return { id, type: 'function', function: { name, arguments: objectText(input) } }
          }),
        }),
        ...named,
      }
    }
  }
}

/** A single text as a string, which every server accepts; anything else as parts. */
function toContent(parts: readonly ContentPart[]): unknown {
  const [first] = parts
  if (first === undefined) return ''
  return parts.length === 1 && first.type === 'text' ? first.text : parts.map(toWirePart)
}

function toWirePart(part: ContentPart): Record<string, unknown> {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'media':
      return toWireMedia(part)
  }
}

/** Bytes are sent inline: a server never gets an address to fetch. */
function toWireMedia(part: MediaPart): Record<string, unknown> {
  const { kind, detail } = part
  const { base64, mediaType } = bytesOf(part)
  switch (kind) {
    case 'image': {
      const url = `data:${mediaType};base64,${base64}`
      return { type: 'image_url', image_url: { url, ...(detail !== undefined && { detail }) } }
    }
    case 'audio':
      return {
        type: 'input_audio',
        input_audio: { data: base64, format: audioFormats[mediaType] ?? mediaType.replace('audio/', '') },
      }
    case 'video':
      return { type: 'video_url', video_url: { url: `data:${mediaType};base64,${base64}` } }
    case 'file':
      throw new Error('a file part reached an upstream body')
  }
}

const audioFormats: Readonly<Record<string, string>> = {
  'audio/wav': 'wav',
  'audio/mpeg': 'mp3',
  'audio/flac': 'flac',
  'audio/x-flac': 'flac',
}
