import { AppError } from '../../contract/errors.ts'

/** A part of a prompt. In `literal` text, what looks like a special token is only text. */
export type PromptSegment = { readonly text: string; readonly literal: boolean }

/** A value whose strings are safe to render, and the split of the rendered prompt into segments. */
type Protected<T> = { readonly value: T; split(rendered: string): readonly PromptSegment[] }

/** Unicode noncharacters (U+FDD0–U+FDEF) are reserved for internal use and never part of text. */
const sentinels = Array.from({ length: 32 }, (_, index) => String.fromCharCode(0xfdd0 + index))

/**
 * Keeps a caller's text from becoming special tokens. A sentinel character, which templates pass on unchanged, is put into each
 * special token's text inside `value`; `split` finds those texts in the rendered prompt and makes them literal segments. Special
 * tokens that the template itself writes are not touched.
 */
export function protectSpecialTokens<T>(value: T, specialTexts: readonly string[]): Protected<T> {
  const pattern = anyOf(specialTexts)
  const all = JSON.stringify(value)
  // Almost every request takes this path: none of the texts occurs, as JSON spells them.
  const escaped = anyOf(specialTexts.map((text) => JSON.stringify(text).slice(1, -1)))
  if (pattern === undefined || escaped?.test(all) !== true) return { value, split: (text) => [{ text, literal: false }] }

  const given = all.toLowerCase()
  const sentinel = sentinels.find((candidate) => !given.includes(candidate) && !given.includes(nameOf(candidate)))
  if (sentinel === undefined) {
    const message =
      'the messages contain all of the Unicode noncharacters U+FDD0 to U+FDEF, or escapes of them; leave out at least one'
    throw new AppError('invalid-request', message, { at: ['prompt', 'messages'] })
  }
  const breakTokens = (text: string) =>
    text.replaceAll(globalOf(pattern), (token) => `${token.slice(0, 1)}${sentinel}${token.slice(1)}`)
  // Templates that print strings as Python or ASCII JSON escape the sentinel, once more for each level of nesting.
  const spellings = new RegExp(`${sentinel}|\\\\+${nameOf(sentinel)}`, 'g')
  return {
    value: mapStrings(value, breakTokens) as T,
    split: (rendered) => splitAt(rendered.replace(spellings, sentinel), specialTexts, sentinel),
  }
}

function splitAt(rendered: string, specialTexts: readonly string[], sentinel: string): PromptSegment[] {
  const broken = anyOf(specialTexts.map((text) => `${text.slice(0, 1)}${sentinel}${text.slice(1)}`))
  const segments: PromptSegment[] = []
  const add = (text: string, literal: boolean) => {
    // A template may have split a broken token: a sentinel that is left over is removed.
    if (text !== '') segments.push({ text: text.replaceAll(sentinel, ''), literal })
  }
  let from = 0
  for (const match of broken === undefined ? [] : rendered.matchAll(globalOf(broken))) {
    add(rendered.slice(from, match.index), false)
    add(match[0], true)
    from = match.index + match[0].length
  }
  add(rendered.slice(from), false)
  return segments
}

/** What follows the backslash in an escape of the sentinel. */
function nameOf(sentinel: string): string {
  return `u${sentinel.charCodeAt(0).toString(16)}`
}

/** Longest first, so that a token whose text begins with another's is matched as itself. */
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
