import type { CanonicalPath } from '../contract/field.ts'
import type { ContentPart, MediaPart, Message, OutputPart, Prompt, ToolCallPart } from '../contract/request.ts'
import type { ReplyPart } from '../contract/result.ts'

export function textOf(parts: readonly ReplyPart[]): string {
  return join(parts, 'text')
}

export function reasoningOf(parts: readonly ReplyPart[]): string {
  return join(parts, 'reasoning')
}

/** The refusal of a turn; empty without one. */
export function refusalOf(parts: readonly ReplyPart[]): string {
  return join(parts, 'refusal')
}

export function callsOf(parts: readonly ReplyPart[]): readonly ToolCallPart[] {
  return parts.filter((part) => part.type === 'tool-call')
}

/** The visible content of a turn: text, media, and refusals as text. */
export function contentOf(parts: readonly OutputPart[]): readonly ContentPart[] {
  return parts.flatMap(visibleIn)
}

/** The parts of a reply that the model itself produced, for an assistant's turn. */
export function outputOf(parts: readonly ReplyPart[]): readonly OutputPart[] {
  return parts.filter((part) => part.type !== 'mcp-tools' && part.type !== 'approval-request' && part.type !== 'server-tool')
}

/** Whether `mediaIn` is not empty, in a tenth of the time. */
export function hasMedia(prompt: Prompt): boolean {
  return prompt.type === 'chat' && prompt.messages.some((message) => partsOf(message).some(holdsMedia))
}

function holdsMedia(part: ContentPart | OutputPart): boolean {
  return part.type === 'media' || (part.type === 'tool-result' && part.content.some(holdsMedia))
}

function partsOf(message: Message): readonly (ContentPart | OutputPart)[] {
  return message.role === 'assistant' ? message.parts : message.content
}

/** The images, sounds, videos and documents of a prompt, in order, including those in tools' results. */
export function mediaIn(prompt: Prompt): readonly MediaPart[] {
  return placedMediaIn(prompt).map(({ part }) => part)
}

/** As `mediaIn`, with each item's path in the request. */
export function placedMediaIn(prompt: Prompt): readonly PlacedMedia[] {
  if (prompt.type !== 'chat' || !hasMedia(prompt)) return []
  const found: PlacedMedia[] = []
  const collect = (parts: readonly (ContentPart | OutputPart)[], path: CanonicalPath) => {
    for (const [index, part] of parts.entries()) {
      const at = [...path, index]
      if (part.type === 'media') found.push({ part, at })
      else if (part.type === 'tool-result') collect(part.content, [...at, 'content'])
    }
  }
  for (const [index, message] of prompt.messages.entries()) {
    const path = ['prompt', 'messages', index]
    if (message.role === 'assistant') collect(message.parts, [...path, 'parts'])
    else collect(message.content, [...path, 'content'])
  }
  return found
}

type PlacedMedia = { readonly part: MediaPart; readonly at: CanonicalPath }

function visibleIn(part: OutputPart): readonly ContentPart[] {
  switch (part.type) {
    case 'text':
    case 'media':
      return [part]
    case 'refusal':
      return [{ type: 'text', text: part.text }]
    case 'reasoning':
    case 'tool-call':
    case 'tool-result':
      return []
  }
}

function join(parts: readonly ReplyPart[], type: 'text' | 'reasoning' | 'refusal'): string {
  let text = ''
  for (const part of parts) if (part.type === type) text += part.text
  return text
}

/** Whether the output continues a turn that the caller has begun. */
export function isContinued({
  start,
  responsePrefix,
}: Pick<Extract<Prompt, { type: 'chat' }>, 'start' | 'responsePrefix'>): boolean {
  return start === 'last-message' || responsePrefix !== ''
}
