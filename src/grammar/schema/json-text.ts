import { type CharSet, charSet, intersect, invert, subtract, unite } from '../rules/char-set.ts'
import { chars, choice, type Expression, literal, never, optional, repeat, sequence } from '../rules/expression.ts'
import type { RuleBook } from '../rules/rule-book.ts'

/** JSON strings must escape these. */
const mustEscape: CharSet = charSet([0, 0x1f], [0x22, 0x22], [0x5c, 0x5c])
const shortEscapes = new Map([
  [0x08, '\\b'],
  [0x09, '\\t'],
  [0x0a, '\\n'],
  [0x0c, '\\f'],
  [0x0d, '\\r'],
  [0x22, '\\"'],
  [0x5c, '\\\\'],
])

/** Digits are bounded, so that they end: integers by 64 bits, fractions by the precision of a double. */
export const integerDigits = 19
export const fractionDigits = 17

/** Characters in an undeclared name. */
const maxNameLength = 128

export const digit: Expression = chars(charSet([0x30, 0x39]))
const nonZero = chars(charSet([0x31, 0x39]))
const zero = literal('0')

/**
 * White space is bounded, because a model that has lost its way writes it without end: at most one space after a comma or a
 * colon, where models that were trained on ordinary JSON put one.
 */
export function comma(book: RuleBook): Expression {
  return sequence(literal(','), space(book))
}

/** The key of a member, with its colon. */
export function memberKey(book: RuleBook, name: string): Expression {
  return sequence(literal(`${JSON.stringify(name)}:`), space(book))
}

export function colon(book: RuleBook): Expression {
  return sequence(literal(':'), space(book))
}

/** One character of a JSON string, with every escape of JSON except lone surrogates. */
export function stringChar(book: RuleBook): Expression {
  return book.once('char', anyStringChar)
}

function anyStringChar(): Expression {
  const hex = charSet([0x30, 0x39], [0x41, 0x46], [0x61, 0x66])
  const d = charSet([0x44, 0x44], [0x64, 0x64])
  const codeUnit = choice(
    sequence(chars(subtract(hex, d)), repeat(chars(hex), 3, 3)),
    sequence(chars(d), chars(charSet([0x30, 0x37])), repeat(chars(hex), 2, 2)),
  )
  const short = chars(charSet(...[...'"\\/bfnrt'].map((char) => [char.charCodeAt(0), char.charCodeAt(0)] as const)))
  const escaped = sequence(literal('\\'), choice(short, sequence(literal('u'), codeUnit)))
  return choice(chars(invert(mustEscape)), escaped)
}

/** One of these characters inside a JSON string, in one spelling only, so that no escape gets past a pattern. */
export function stringCharOf(set: CharSet): Expression {
  const controls = intersect(set, mustEscape).flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, offset) => first + offset),
  )
  const short = controls.flatMap((code) => shortEscapes.get(code) ?? [])
  const long = controls.filter((code) => !shortEscapes.has(code))
  return choice(chars(subtract(set, mustEscape)), ...short.map(literal), longEscapes(long))
}

export function anyString(book: RuleBook): Expression {
  return book.once('string', () => sequence(literal('"'), repeat(stringChar(book), 0), literal('"')))
}

/** Any name of a member. Unlike values it is bounded, so that it ends. */
export function anyName(book: RuleBook): Expression {
  return book.once('name', () => sequence(literal('"'), book.repeat(stringChar(book), 0, maxNameLength), literal('"')))
}

/** Any JSON integer of bounded length except `-0`. */
export function anyInteger(book: RuleBook): Expression {
  const digits = sequence(nonZero, repeat(digit, 0, integerDigits - 1))
  return book.once('integer', () => choice(zero, sequence(optional(literal('-')), digits)))
}

/** Any JSON number of bounded length, with an exponent too small for infinity. */
export function anyNumber(book: RuleBook): Expression {
  return book.once('number', numberText)
}

function numberText(): Expression {
  const whole = choice(zero, sequence(nonZero, repeat(digit, 0, integerDigits - 1)))
  const fraction = sequence(literal('.'), repeat(digit, 1, fractionDigits))
  const exponent = sequence(
    chars(charSet([0x45, 0x45], [0x65, 0x65])),
    optional(chars(charSet([0x2b, 0x2b], [0x2d, 0x2d]))),
    repeat(digit, 1, 2),
  )
  return sequence(optional(literal('-')), whole, optional(fraction), optional(exponent))
}

export const anyBoolean: Expression = choice(literal('true'), literal('false'))
export const nullValue: Expression = literal('null')

/** Any JSON value that nests at most `depth` objects and arrays. */
export function anyValue(book: RuleBook, depth: number = book.limits.anyValueDepth): Expression {
  return book.once(`value-${depth}`, () => {
    const nested = depth > 0 ? [anyObject(book, depth), anyArray(book, depth)] : []
    return choice(...nested, anyString(book), anyNumber(book), anyBoolean, nullValue)
  })
}

/** Any JSON object; its values nest at most `depth - 1` levels. */
export function anyObject(book: RuleBook, depth: number = book.limits.anyValueDepth): Expression {
  return book.once(`object-${depth}`, () => {
    const member = sequence(anyName(book), colon(book), anyValue(book, depth - 1))
    return sequence(literal('{'), optional(list(book, member)), literal('}'))
  })
}

/** Any JSON array; its items nest at most `depth - 1` levels. */
export function anyArray(book: RuleBook, depth: number = book.limits.anyValueDepth): Expression {
  return book.once(`array-${depth}`, () => sequence(literal('['), optional(list(book, anyValue(book, depth - 1))), literal(']')))
}

function list(book: RuleBook, item: Expression): Expression {
  return sequence(item, repeat(sequence(comma(book), item), 0))
}

function space(book: RuleBook): Expression {
  return book.once('space', () => optional(literal(' ')))
}

/** `\u00XX`, with hexadecimal digits in either case. */
function longEscapes(codes: readonly number[]): Expression {
  if (codes.length === 0) return never
  const byHigh = new Map<number, CharSet>()
  for (const code of codes) {
    const low = (code & 15).toString(16)
    const both = charSet(...[low, low.toUpperCase()].map((char) => [char.charCodeAt(0), char.charCodeAt(0)] as const))
    byHigh.set(code >> 4, unite(byHigh.get(code >> 4) ?? [], both))
  }
  return choice(...[...byHigh].map(([high, lows]) => sequence(literal(`\\u00${high}`), chars(lows))))
}
