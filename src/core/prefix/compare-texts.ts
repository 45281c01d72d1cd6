import type { ChangedTexts, ChangeKind } from '../../contract/usage.ts'

const mostChanged = 400
const mostAround = 80

const months =
  'jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?'
const days = '(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?'
const time = String.raw`\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:\s?[ap]m)?(?:\s?(?:Z|UTC|GMT)|[+-]\d{2}:?\d{2})?`
const dates = new RegExp(
  [
    String.raw`\b\d{4}-\d{2}-\d{2}(?:[T ]${time})?`,
    String.raw`\b${time}`,
    String.raw`\b\d{1,2}([./])\d{1,2}\1\d{2,4}\b`,
    String.raw`\b(?:${months})\.?\s+\d{1,2}(?:st|nd|rd|th)?(?:,?\s+\d{4})?\b`,
    String.raw`\b(?:\d{1,2}(?:st|nd|rd|th|\.)?\s+)?(?:${months})\.?(?:,?\s+\d{4})?\b`,
    String.raw`\b${days}\b`,
    // Seconds or milliseconds since 1970, in this decade and its neighbours.
    String.raw`\b1[5-9]\d{8}(?:\d{3})?\b`,
  ].join('|'),
  'gi',
)
const numbers = /\d+(?:[.,]\d+)*/g
/** UUIDs, hashes, and other words of letters and digits that no human makes. */
const ids = /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b|\b(?=[a-f]*\d)[\da-f]{5,}\b|\b(?=\w*\d)(?=\w*[a-z])\w{12,}\b/gi

/** Compares two texts that differ, by the first line that does. */
export function kindOfChange(before: string, now: string): ChangeKind {
  if (squeeze(before) === squeeze(now)) return 'spacing'
  const lines = firstLines(before, now)
  const kind = lines[0] === lines[1] ? undefined : kindOfLines(...lines)
  if (kind !== undefined) return kind
  const { start, end } = difference(before, now)
  const shared = start + end
  if (shared === before.length) return 'added'
  return shared === now.length ? 'removed' : 'text'
}

/** What two texts share of which one was edited: a date in it, or the state of a folder. */
export const leastSimilarity = 0.5

/** Undefined: they differ in more. */
function kindOfLines(before: string, now: string): ChangeKind | undefined {
  if (squeeze(before) === squeeze(now)) return 'spacing'
  const isEqualBut = (pattern: RegExp) => before.replace(pattern, '#') === now.replace(pattern, '#')
  if (isEqualBut(dates)) return 'date'
  if (isEqualBut(numbers)) return 'number'
  if (isEqualBut(ids)) return 'id'
  return wordsAround(before, now).every((word) => /[\\/]/.test(word)) ? 'path' : undefined
}

/** How much two texts share at their beginning and end, of the longer one: 0 to 1. */
export function similarity(before: string, now: string): number {
  const { start, end } = difference(before, now)
  const longest = Math.max(before.length, now.length)
  return longest === 0 ? 1 : (start + end) / longest
}

/** The difference of two texts, for people. */
export function excerpt(before: string, now: string): ChangedTexts {
  const { start, end } = difference(before, now)
  const changed = (text: string) => {
    const middle = text.slice(start, text.length - end)
    return middle.length <= mostChanged ? middle : `${withoutHalves(middle.slice(0, mostChanged))}…`
  }
  const last = before.length - end
  return {
    lead: withoutHalves(before.slice(Math.max(0, start - mostAround), start)),
    before: changed(before),
    now: changed(now),
    trail: withoutHalves(before.slice(last, last + mostAround)),
  }
}

/** Without half of a pair of surrogates at an end. */
function withoutHalves(text: string): string {
  return text.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '')
}

/** The characters that two texts begin and end with. */
export function difference(before: string, now: string): { readonly start: number; readonly end: number } {
  const most = Math.min(before.length, now.length)
  let start = 0
  while (start < most && before.charCodeAt(start) === now.charCodeAt(start)) start += 1
  let end = 0
  while (end < most - start && before.charCodeAt(before.length - 1 - end) === now.charCodeAt(now.length - 1 - end)) end += 1
  // Both halves of a pair of surrogates differ.
  if (isHigh(before, start - 1)) start -= 1
  if (end > 0 && isHigh(before, before.length - end - 1) && isHigh(now, now.length - end - 1)) end -= 1
  return { start, end }
}

function isHigh(text: string, index: number): boolean {
  const code = text.charCodeAt(index)
  return code >= 0xd800 && code < 0xdc00
}

/** Without white space, and with one form of each character. */
function squeeze(text: string): string {
  return text.normalize('NFKC').replace(/\s+/g, '')
}

function firstLines(before: string, now: string): readonly [string, string] {
  const { start } = difference(before, now)
  const from = before.lastIndexOf('\n', start - 1) + 1
  const lineOf = (text: string) => {
    const end = text.indexOf('\n', start)
    return text.slice(from, end === -1 ? text.length : end)
  }
  return [lineOf(before), lineOf(now)]
}

/** The words of two lines in which they differ first. */
function wordsAround(before: string, now: string): readonly string[] {
  const { start } = difference(before, now)
  const from = before.slice(0, start).search(/\S*$/)
  return [before, now].map((line) => /^\S*/.exec(line.slice(from))?.[0] ?? '')
}
