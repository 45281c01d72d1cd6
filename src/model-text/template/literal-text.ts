import { AppError } from '../../contract/errors.ts'

/** A stretch of a prompt. In `literal` text, what looks like a special token is only text. */
export type PromptSegment = { readonly text: string; readonly literal: boolean }

/** A value whose texts are safe to render, and the way back from the rendered prompt. */
export type Protected<T> = { readonly value: T; split(rendered: string): readonly PromptSegment[] }

/** Unicode noncharacters (U+FDD0–U+FDEF) are for a program's own use and stand for no text. */
const markers = Array.from({ length: 32 }, (_, index) => String.fromCharCode(0xfdd0 + index))

/**
 * Keeps a caller's text from acting as control: each special token's text inside `value` is broken by a marker that the
 * template carries along unseen; `split` finds those places in the rendered prompt and declares them literal. Special
 * tokens that the template itself writes are not touched.
 */
export function protectSpecialTokens<T>(value: T, specialTexts: readonly string[]): Protected<T> {
  const pattern = anyOf(specialTexts)
  const all = JSON.stringify(value)
  // Almost every request takes this path: none of the texts is there, in the spelling that JSON gives them.
  const escaped = anyOf(specialTexts.map((text) => JSON.stringify(text).slice(1, -1)))
  if (pattern === undefined || escaped?.test(all) !== true) return { value, split: (text) => [{ text, literal: false }] }

  const given = all.toLowerCase()
  const marker = markers.find((candidate) => !given.includes(candidate) && !given.includes(nameOf(candidate)))
  if (marker === undefined) {
    const message = 'the messages hold all of the Unicode noncharacters U+FDD0 to U+FDEF, or their names; leave out at least one'
    throw new AppError('invalid-request', message, { param: 'messages' })
  }
  const mark = (text: string) => text.replaceAll(globalOf(pattern), (token) => `${token.slice(0, 1)}${marker}${token.slice(1)}`)
  // Templates that print a text as Python or ASCII JSON has it escape the marker, once more in each text inside a text.
  const spellings = new RegExp(`${marker}|\\\\+${nameOf(marker)}`, 'g')
  return {
    value: mapStrings(value, mark) as T,
    split: (rendered) => splitAt(rendered.replace(spellings, marker), specialTexts, marker),
  }
}

function splitAt(rendered: string, specialTexts: readonly string[], marker: string): PromptSegment[] {
  const marked = anyOf(specialTexts.map((text) => `${text.slice(0, 1)}${marker}${text.slice(1)}`))
  const segments: PromptSegment[] = []
  const add = (text: string, literal: boolean) => {
    // A template may have cut a marked text apart; a marker that is left over stands for nothing.
    if (text !== '') segments.push({ text: text.replaceAll(marker, ''), literal })
  }
  let from = 0
  for (const match of marked === undefined ? [] : rendered.matchAll(globalOf(marked))) {
    add(rendered.slice(from, match.index), false)
    add(match[0], true)
    from = match.index + match[0].length
  }
  add(rendered.slice(from), false)
  return segments
}

/** What an escape of the marker says behind its backslash. */
function nameOf(marker: string): string {
  return `u${marker.charCodeAt(0).toString(16)}`
}

/** Longest first, so that a token whose text begins with another's is found whole. */
function anyOf(texts: readonly string[]): RegExp | undefined {
  const sources = texts
    .filter((text) => text !== '')
    .sort((a, b) => b.length - a.length)
    .map((text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'))
  return sources.length === 0 ? undefined : new RegExp(sources.join('|'))
}

function globalOf(pattern: RegExp): RegExp {
  return new RegExp(pattern.source, 'g')
}

function mapStrings(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value)
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, map))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [map(key), mapStrings(item, map)]))
}
