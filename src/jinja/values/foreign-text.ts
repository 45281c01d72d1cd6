import { spendItems, spendScan, spendText } from './budget.ts'

/**
 * Foreign text: that of a caller, which must never act as the template's own. Each of its characters is replaced by a partner of its own,
 * one code unit for one, so that cutting, joining and repeating texts keep track of where each character came from. Operations that read
 * characters (comparisons, searches, conversions) use `plainText`, and the two kinds can be told apart in the printed text.
 *
 * The partners are lone low surrogates: no valid text contains one. White space and letters beyond the ranges below have none.
 */

/** Ranges of characters with partners: first, last, and the partner of the first. They include all characters of special tokens. */
const ranges: readonly (readonly [first: number, last: number, partner: number])[] = [
  [0x21, 0x7e, 0xdc21],
  [0xa1, 0xff, 0xdca1],
  [0x2500, 0x25ff, 0xdd00],
  [0xff01, 0xff5e, 0xde01],
  [0x2010, 0x2027, 0xde80],
  [0x2030, 0x205e, 0xdeb0],
  [0x3001, 0x303f, 0xdf01],
  [0x2190, 0x21ff, 0xdf80],
]
const replacement = 0xfffd
// `Uint16Array.from` calls a function for each: ten times as slow, in each process that starts.
const same = new Uint16Array(0x10000)
for (let code = 0; code < same.length; code += 1) same[code] = code
const partners = same.slice()
const originals = same.slice().fill(replacement, 0xdc00, 0xe000)
for (const [first, last, partner] of ranges) {
  for (let code = first; code <= last; code += 1) {
    partners[code] = partner + code - first
    originals[partner + code - first] = code
  }
}

const replaced = new Uint16Array(0x10000).fill(replacement)
const foreign: Translation = { whole: partners, half: replaced }
const plain: Translation = { whole: same, half: originals }
const repaired: Translation = { whole: same, half: replaced }

const lone = /(?<![\ud800-\udbff])[\udc00-\udfff]/
const unpaired = /(?<![\ud800-\udbff])[\udc00-\udfff]|[\ud800-\udbff](?![\udc00-\udfff])/

/** The text as a caller's. Half surrogate pairs become U+FFFD. */
export function asForeign(text: string): string {
  spendText(text.length)
  return translate(text, foreign)
}

/** The text without a trace of its origin. */
export function plainText(text: string): string {
  spendScan(text.length)
  if (!isForeign(text)) return text
  spendText(text.length)
  return translate(text, plain)
}

export function isForeign(text: string): boolean {
  if (text.length > shortText) return lone.test(text)
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code >= 0xd800 && code <= 0xdfff) return lone.test(text)
  }
  return false
}

export function isForeignAt(text: string, index: number): boolean {
  const code = text.charCodeAt(index)
  return isLow(code) && !isHigh(text.charCodeAt(index - 1))
}

/** A text without foreign characters: the template's own. */
export function wellFormed(text: string): string {
  return unpaired.test(text) ? translate(text, repaired) : text
}

/**
 * Applies a conversion of single characters, such as `toUpperCase`, and keeps the origin of each. One that changes the length is
 * applied to each run of one origin by itself.
 */
export function convertText(text: string, convert: (plain: string) => string): string {
  if (!isForeign(text)) return convert(text)
  const converted = convert(plainText(text))
  if (converted.length === text.length) return withOrigins(converted, text)
  return runsOf(text)
    .map((run) => (isForeignAt(run, 0) ? asForeign(convert(plainText(run))) : convert(run)))
    .join('')
}

/** As `convertText`, for a conversion that depends on the characters around: where it changes the length, all becomes foreign. */
export function convertWords(text: string, convert: (plain: string) => string): string {
  const converted = convert(plainText(text))
  return converted.length === text.length && isForeign(text) ? withOrigins(converted, text) : derivedFrom([text], converted)
}

/** A text made from others without a trace of their positions: foreign if one of them was. */
export function derivedFrom(sources: readonly string[], made: string): string {
  return sources.some(isForeign) ? asForeign(plainText(made)) : made
}

/** Runs of foreign characters, and the runs between them. */
export function runsOf(text: string): string[] {
  const runs: string[] = []
  let from = 0
  let before = isForeignAt(text, 0)
  for (let index = 1; index < text.length; index += 1) {
    const now = isForeignAt(text, index)
    if (now === before) continue
    before = now
    spendItems(1)
    runs.push(text.slice(from, index))
    from = index
  }
  return text === '' ? [] : [...runs, text.slice(from)]
}

function withOrigins(text: string, like: string): string {
  spendText(text.length)
  const codes = new Uint16Array(text.length)
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    codes[index] = isForeignAt(like, index) ? (partners[code] as number) : code
  }
  return fromCodes(codes)
}

/** How to translate units: those outside of surrogate pairs, and low surrogates without their high ones. */
type Translation = { readonly whole: Uint16Array; readonly half: Uint16Array }

function translate(text: string, { whole, half }: Translation): string {
  const { length } = text
  const codes = new Uint16Array(length)
  for (let index = 0; index < length; index += 1) {
    const code = text.charCodeAt(index)
    if (code < 0xd800 || code > 0xdfff) codes[index] = whole[code] as number
    else if (isLow(code)) codes[index] = half[code] as number
    else if (isLow(text.charCodeAt(index + 1))) {
      codes[index] = code
      index += 1
      codes[index] = text.charCodeAt(index)
    } else codes[index] = replacement
  }
  return fromCodes(codes)
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff
}

/** Up to this length, a loop is faster than a regular expression: most texts are names and keys. */
const shortText = 24
const chunk = 8192

function fromCodes(codes: Uint16Array): string {
  if (codes.length <= chunk) return String.fromCharCode.apply(null, codes as unknown as number[])
  let text = ''
  for (let from = 0; from < codes.length; from += chunk) {
    text += String.fromCharCode.apply(null, codes.subarray(from, from + chunk) as unknown as number[])
  }
  return text
}
