import type { ContentPart } from '../../contract/request.ts'
import type { TemplateTurn } from './turn.ts'

/** Concatenates two contents, with a blank line between adjacent texts. */
export function joinContent(first: readonly ContentPart[], second: readonly ContentPart[]): readonly ContentPart[] {
  const last = first.at(-1)
  const next = second[0]
  if (last === undefined) return second
  if (next === undefined) return first
  if (last.type !== 'text' || next.type !== 'text') return [...first, ...second]
  return [...first.slice(0, -1), { type: 'text', text: `${last.text}\n\n${next.text}` }, ...second.slice(1)]
}

export function appendTo<M extends TemplateTurn>(message: M, content: readonly ContentPart[]): M {
  return { ...message, content: joinContent(message.content, content) }
}
