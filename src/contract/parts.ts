import type { ContentPart, OutputPart, ToolCallPart } from './request.ts'

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
