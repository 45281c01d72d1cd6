import type { ContentPart, MediaPart, OutputPart, Prompt, ToolCallPart } from './request.ts'

/** The text of a turn: its text parts, concatenated. */
export function textOf(parts: readonly OutputPart[]): string {
  return join(parts, 'text')
}

/** The reasoning of a turn: its reasoning parts, concatenated. */
export function reasoningOf(parts: readonly OutputPart[]): string {
  return join(parts, 'reasoning')
}

/** The refusal of a turn; empty without one. */
export function refusalOf(parts: readonly OutputPart[]): string {
  return join(parts, 'refusal')
}

/** The tool calls of a turn. */
export function callsOf(parts: readonly OutputPart[]): readonly ToolCallPart[] {
  return parts.filter((part) => part.type === 'tool-call')
}

/** The visible content of a turn: text, media, and refusals as text. */
export function contentOf(parts: readonly OutputPart[]): readonly ContentPart[] {
  return parts.flatMap(visibleIn)
}

/** The images, sounds, videos and documents of a prompt, in order; those in tools' results included. */
export function mediaIn(prompt: Prompt): readonly MediaPart[] {
  if (prompt.type !== 'chat') return []
  return prompt.messages.flatMap((message) => (message.role === 'assistant' ? message.parts : message.content).flatMap(mediaOf))
}

function mediaOf(part: ContentPart | OutputPart): readonly MediaPart[] {
  switch (part.type) {
    case 'media':
      return [part]
    case 'tool-result':
      return part.content.flatMap(mediaOf)
    case 'text':
    case 'reasoning':
    case 'refusal':
    case 'tool-call':
      return []
  }
}

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

function join(parts: readonly OutputPart[], type: 'text' | 'reasoning' | 'refusal'): string {
  let text = ''
  for (const part of parts) if (part.type === type) text += part.text
  return text
}
