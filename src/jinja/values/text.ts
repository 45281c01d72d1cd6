import { spend, spendItems, spendRead, spendScan, spendText } from './budget.ts'
import { convertText, plainText } from './foreign-text.ts'

/** Python's white space as a class of a regular expression; JavaScript's `\s` differs. */
export const spaceClass = '[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]'
const whiteSpace = new RegExp(spaceClass)

export function isSpace(character: string): boolean {
  return whiteSpace.test(character)
}

/** Python's `strip`, `lstrip` and `rstrip`: `characters` is the set to remove, by default white space. */
export function trimText(text: string, { start = false, end = false, characters }: TrimOptions): string {
  const set = characters === undefined ? undefined : new Set(plainText(characters))
  const drops = (character: string) => (set === undefined ? whiteSpace.test(character) : set.has(plainText(character)))
  let from = 0
  let to = text.length
  let trimmed = 0
  const spendTrim = () => {
    trimmed += 1
    if (trimmed % 8 === 0) spend(1)
  }
  while (start && from < to) {
    const character = String.fromCodePoint(text.codePointAt(from) ?? 0)
    if (!drops(character)) break
    spendTrim()
    from += character.length
  }
  while (end && to > from) {
    const character = lastCharacter(text, to)
    if (!drops(character)) break
    spendTrim()
    to -= character.length
  }
  return text.slice(from, to)
}

type TrimOptions = { readonly start?: boolean; readonly end?: boolean; readonly characters?: string | undefined }

function lastCharacter(text: string, end: number): string {
  const pair = text.slice(Math.max(0, end - 2), end)
  return (pair.codePointAt(0) ?? 0) > 0xffff ? pair : text.slice(end - 1, end)
}

/** The code points of a text, which is how Python counts. Most texts have none above U+FFFF and are their own list. */
export function characters(text: string): string | readonly string[] {
  spendScan(text.length)
  if (!/[\ud800-\udbff]/.test(text)) return text
  spendItems(text.length)
  return Array.from(text)
}

export function countCharacters(text: string): number {
  return characters(text).length
}

/** A slice of a text by code points. */
export function sliceText(text: string, from: number, to?: number): string {
  const all = characters(text)
  return typeof all === 'string' ? all.slice(from, to) : all.slice(from, to).join('')
}

/** The order of two texts by code points; JavaScript's `<` compares UTF-16 units. */
export function compareTexts(a: string, b: string): number {
  // Two texts are prepared before they are compared: as much as a few steps.
  spend(4)
  spendScan(Math.min(a.length, b.length))
  if (a === b) return 0
  const [first, second] = [characters(plainText(a)), characters(plainText(b))]
  if (first === second) return 0
  if (typeof first === 'string' && typeof second === 'string') return first < second ? -1 : 1
  for (let index = 0; index < Math.min(first.length, second.length); index += 1) {
    const difference = (first[index]?.codePointAt(0) ?? 0) - (second[index]?.codePointAt(0) ?? 0)
    if (difference !== 0) return difference
  }
  return first.length - second.length
}

const lineEnds = '\\r\\n|[\\n\\r\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029]'

/** Python's `splitlines`. */
export function splitLines(text: string, keepEnds = false): string[] {
  const lines: string[] = []
  let rest = 0
  spendRead(text.length)
  for (const match of text.matchAll(new RegExp(lineEnds, 'g'))) {
    spendItems(1)
    lines.push(text.slice(rest, match.index + (keepEnds ? match[0].length : 0)))
    rest = match.index + match[0].length
  }
  if (rest < text.length) lines.push(text.slice(rest))
  return lines
}

/** Python's `repr` of a text. */
export function quoteText(text: string): string {
  spendText(text.length * 2)
  const all = plainText(text)
  const quote = all.includes("'") && !all.includes('"') ? '"' : "'"
  return `${quote}${convertText(text, (plain) => escapeForRepr(plain, quote))}${quote}`
}

function escapeForRepr(text: string, quote: string): string {
  return text.replace(/[\\\p{C}\p{Z}'"]/gu, (character) => {
    if (character === ' ') return character
    if (character === "'" || character === '"') return character === quote ? `\\${character}` : character
    if (character === '\\') return '\\\\'
    if (character === '\n') return '\\n'
    if (character === '\r') return '\\r'
    if (character === '\t') return '\\t'
    const code = character.codePointAt(0) ?? 0
    if (code <= 0xff) return `\\x${code.toString(16).padStart(2, '0')}`
    return code <= 0xffff ? `\\u${code.toString(16).padStart(4, '0')}` : `\\U${code.toString(16).padStart(8, '0')}`
  })
}

/** Python's `repr` of an `int`. */
export function integerText(value: number): string {
  return Math.abs(value) < 1e21 ? String(value === 0 ? 0 : value) : BigInt(value).toString()
}

/** Python's `repr` of a `float`: the shortest digits that read back, exponents where Python has them. */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0'
  const [mantissa = '', exponentText = '0'] = value.toExponential().split('e')
  const exponent = Number(exponentText)
  if (exponent < -4 || exponent >= 16) {
    const digits = Math.abs(exponent).toString().padStart(2, '0')
    return `${mantissa}e${exponent < 0 ? '-' : '+'}${digits}`
  }
  return Number.isInteger(value) ? `${value}.0` : String(value)
}
