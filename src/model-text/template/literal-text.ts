import { isForeign, isForeignAt, plainText } from '../../jinja/values/foreign-text.ts'

/** A part of a prompt. In `literal` text, anything like a special token is only text. */
export type PromptSegment = { readonly text: string; readonly literal: boolean }

type Range = { readonly from: number; readonly to: number }

/**
 * Splits a rendered prompt so that only the template writes special tokens: one with a character of the caller's, even at its edge, is a
 * literal segment.
 */
export function splitPrompt(traced: string, specialTexts: readonly string[]): readonly PromptSegment[] {
  const text = plainText(traced)
  const { own, mixed } = isForeign(traced) ? findTokens(traced, text, specialTexts) : { own: [], mixed: [] }
  const segments: PromptSegment[] = []
  const add = (from: number, to: number, literal: boolean) => {
    if (from < to) segments.push({ text: text.slice(from, to), literal })
  }
  let at = 0
  for (const { from, to } of without(mixed, own)) {
    add(at, from, false)
    add(from, to, true)
    at = to
  }
  add(at, text.length, false)
  return segments
}

/**
 * The bytes in front of the last message: in front of the caller's text after the last special token that is followed by some. Undefined if
 * the template writes no special tokens.
 */
export function lastMessageStart(traced: string, specialTexts: readonly string[]): number | undefined {
  if (!isForeign(traced)) return undefined
  const text = plainText(traced)
  let last = traced.length - 1
  while (!isForeignAt(traced, last)) last -= 1
  const token = findTokens(traced, text, specialTexts).own.findLast(({ to }) => to <= last)
  if (token === undefined) return undefined
  let start = token.to
  while (!isForeignAt(traced, start)) start += 1
  return Buffer.byteLength(text.slice(0, start))
}

/** The special tokens in a text, in order of their start: those of the template alone, and those with foreign characters. */
function findTokens(traced: string, text: string, specialTexts: readonly string[]) {
  const own: Range[] = []
  const mixed: Range[] = []
  const pattern = patternOf(specialTexts)
  if (pattern === undefined) return { own, mixed }
  pattern.lastIndex = 0
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const from = match.index
    const range = { from, to: from + match[0].length }
    // Tokens may overlap: the tokenizer decides which of them counts.
    pattern.lastIndex = from + 1
    if (isOwn(traced, range)) {
      own.push(range)
      continue
    }
    mixed.push(range)
    const shorter = isForeignAt(traced, from) ? [] : specialTexts.filter((each) => each !== '' && text.startsWith(each, from))
    own.push(...shorter.map((each) => ({ from, to: from + each.length })).filter((each) => isOwn(traced, each)))
  }
  return { own, mixed }
}

function isOwn(traced: string, { from, to }: Range): boolean {
  for (let at = from; at < to; at += 1) if (isForeignAt(traced, at)) return false
  return true
}

/** The remains of ranges that start in order, without overlaps, after others were removed. */
function without(ranges: readonly Range[], taken: readonly Range[]): Range[] {
  const rest: Range[] = []
  let at = 0
  let next = 0
  for (const { from, to } of ranges) {
    at = Math.max(at, from)
    for (let index = next; at < to; index += 1) {
      const cut = taken[index]
      if (cut !== undefined && cut.to <= at) {
        if (index === next) next += 1
        continue
      }
      const end = Math.min(to, cut?.from ?? to)
      if (at < end) rest.push({ from: at, to: end })
      at = Math.max(at, Math.min(to, cut?.to ?? to))
    }
  }
  return rest
}

const patterns = new WeakMap<readonly string[], RegExp>()

/** Any of the texts; longest first, so that a token whose text begins with another's is matched as itself. */
function patternOf(texts: readonly string[]): RegExp | undefined {
  const known = patterns.get(texts)
  if (known !== undefined) return known
  const sources = texts
    .filter((text) => text !== '')
    .sort((a, b) => b.length - a.length)
    .map((text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'))
  if (sources.length === 0) return undefined
  const pattern = new RegExp(sources.join('|'), 'g')
  patterns.set(texts, pattern)
  return pattern
}
