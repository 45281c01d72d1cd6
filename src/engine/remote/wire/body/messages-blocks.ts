import { mayLoseDigits } from '../../../../base/long-numbers.ts'
import { objectText } from '../../../../canonical/object-text.ts'
import { bytesOf } from '../../../../contract/media.ts'
import type { ContentPart, MediaPart, OutputPart, ToolCallPart } from '../../../../contract/request.ts'
import { RawJson } from '../../transport/raw-json.ts'
import { readOpaque } from './opaque.ts'

export type Block = Readonly<Record<string, unknown>> & { readonly type: string }

/** The content of a user or of a tool's result. The protocol refuses empty texts, so they are left out. */
export function contentBlocks(parts: readonly ContentPart[]): readonly Block[] {
  return parts.flatMap((part) => (part.type === 'text' ? textBlock(part.text) : [mediaBlock(part)]))
}

/** A part of an assistant's turn. Reasoning without the server's own signature would be refused, so it is left out. */
export function assistantBlock(part: Exclude<OutputPart, { type: 'tool-result' | 'media' }>): readonly Block[] {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return textBlock(part.text)
    case 'tool-call':
      return [{ type: 'tool_use', id: toolId(part.id), name: part.name, input: inputOf(part) }]
    case 'reasoning': {
      const opaque = readOpaque(part.opaque)
      if (opaque?.type === 'signature') return [{ type: 'thinking', thinking: part.text, signature: opaque.value }]
      return opaque?.type === 'redacted' ? [{ type: 'redacted_thinking', data: opaque.value }] : []
    }
  }
}

type ToolResult = { readonly toolCallId: string; readonly content: readonly ContentPart[]; readonly isError?: true }

/** The result of a tool, which is part of a user's message. */
export function resultBlock({ toolCallId, content, isError }: ToolResult): Block {
  return {
    type: 'tool_result',
    tool_use_id: toolId(toolCallId),
    content: blocksOrText(contentBlocks(content)),
    ...(isError === true && { is_error: true }),
  }
}

/** A single text as a string. */
export function blocksOrText(blocks: readonly Block[]): unknown {
  const [first] = blocks
  if (first === undefined) return ''
  return blocks.length === 1 && first.type === 'text' ? first.text : blocks
}

function textBlock(text: string): readonly Block[] {
  return text === '' ? [] : [{ type: 'text', text }]
}

/** Bytes are sent inline: a server never gets an address to fetch. */
function mediaBlock(part: MediaPart): Block {
  const { kind, filename } = part
  const { base64, mediaType } = bytesOf(part)
  const isImage = kind === 'image'
  return {
    type: isImage ? 'image' : 'document',
    source: { type: 'base64', media_type: mediaType, data: base64 },
    ...(!isImage && filename !== undefined && { title: filename }),
  }
}

/** The protocol allows only letters, digits, `_` and `-`; ids of other servers have more. */
function toolId(id: string): string {
  return id.replaceAll(/[^\w-]/g, '_')
}

/** An object, as the protocol requires, with the digits of its numbers. */
function inputOf({ input }: ToolCallPart): unknown {
  const text = objectText(input)
  return mayLoseDigits(text) ? new RawJson(text) : JSON.parse(text)
}
