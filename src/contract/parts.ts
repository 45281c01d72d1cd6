import type { ContentPart, OutputPart, ToolCallPart } from './request.ts'

/** The text of a turn, its text parts joined without anything between them. */
export function textOf(parts: readonly OutputPart[]): string {
  return join(parts, 'text')
}

/** All reasoning of a turn, joined without anything between its parts. */
export function reasoningOf(parts: readonly OutputPart[]): string {
  return join(parts, 'reasoning')
}

/** The words in which the model declined; empty where it did not. */
export function refusalOf(parts: readonly OutputPart[]): string {
  return join(parts, 'refusal')
}

export function callsOf(parts: readonly OutputPart[]): readonly ToolCallPart[] {
  return parts.filter((part) => part.type === 'tool-call')
}

/** What a turn says: its text and media, a refusal as text. */
export function contentOf(parts: readonly OutputPart[]): readonly ContentPart[] {
  return parts.flatMap(saidBy)
}

function saidBy(part: OutputPart): readonly ContentPart[] {
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
