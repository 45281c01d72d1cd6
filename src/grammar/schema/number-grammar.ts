import { charSet } from '../rules/char-set.ts'
import { chars, choice, type Expression, empty, literal, never, optional, repeat, sequence } from '../rules/expression.ts'
import { digit, fractionDigits, integerDigits } from './json-text.ts'

export type Bound = { readonly value: number; readonly exclusive: boolean }
export type Range = { readonly min?: Bound; readonly max?: Bound }

/** The integers in a range; an open range ends at the digits of 64 bits. */
export function integerGrammar(range: Range): Expression {
  const min = range.min === undefined ? undefined : firstInteger(range.min)
  const max = range.max === undefined ? undefined : -firstInteger({ ...range.max, value: -range.max.value })
  return signed(min, max, (low, high) => wholeNumbers(low, high))
}

/** The numbers in a range as decimals without an exponent; exact, because bounds are compared digit by digit. */
export function decimalGrammar(range: Range): Expression {
  const { min, max } = range
  const options: Expression[] = []
  if (max === undefined || max.value >= 0) {
    options.push(magnitudes(min === undefined || min.value < 0 ? { value: 0, exclusive: false } : min, max))
  }
  if (min === undefined || min.value < 0) {
    const nearest = max === undefined || max.value > 0 ? { value: 0, exclusive: false } : { ...max, value: -max.value }
    const furthest = min === undefined ? undefined : { ...min, value: -min.value }
    const negative = magnitudes(nearest, furthest)
    options.push(sequence(literal('-'), negative))
  }
  return choice(...options)
}

/** Whether an exclusive bound is exact: beyond 15 digits, a larger decimal may be the same double to a validator. */
export function isExact(bound: Bound): boolean {
  return !bound.exclusive || Number(bound.value.toPrecision(15)) === bound.value
}

function firstInteger(bound: Bound): bigint {
  const up = BigInt(Math.ceil(bound.value))
  return bound.exclusive && Number.isInteger(bound.value) ? up + 1n : up
}

function signed(
  min: bigint | undefined,
  max: bigint | undefined,
  build: (low: bigint, high: bigint | undefined) => Expression,
): Expression {
  const options: Expression[] = []
  if (max === undefined || max >= 0n) options.push(build(min === undefined || min < 0n ? 0n : min, max))
  if (min === undefined || min < 0n) {
    const nearest = max === undefined || max > -1n ? 1n : -max
    options.push(sequence(literal('-'), build(nearest, min === undefined ? undefined : -min)))
  }
  return choice(...options)
}

function wholeNumbers(low: bigint, high: bigint | undefined): Expression {
  const most = high ?? 10n ** BigInt(Math.max(integerDigits, low.toString().length)) - 1n
  if (most < low) return never
  const options: Expression[] = []
  const highText = most.toString()
  for (let length = low.toString().length; length <= highText.length; length++) {
    const first = length === 1 ? 0n : 10n ** BigInt(length - 1)
    const from = low > first ? low : first
    // Lengths all of whose numbers are in the range become one expression.
    if (length > 1 && from === first && lastOfLength(length) <= most) {
      const longest = lastOfLength(highText.length) <= most ? highText.length : highText.length - 1
      options.push(sequence(chars(charSet([0x31, 0x39])), repeat(digit, length - 1, longest - 1)))
      length = longest
      continue
    }
    const to = lastOfLength(length) < most ? lastOfLength(length) : most
    options.push(sameLength(from.toString(), to.toString()))
  }
  return choice(...options)
}

function lastOfLength(length: number): bigint {
  return 10n ** BigInt(length) - 1n
}

/** The digit texts between two of the same length. */
function sameLength(low: string, high: string): Expression {
  const [a, b] = [Number(low[0]), Number(high[0])]
  if (low === '') return empty
  if (/^0*$/.test(low) && /^9*$/.test(high)) return repeat(digit, low.length, low.length)
  const [lowRest, highRest] = [low.slice(1), high.slice(1)]
  if (a === b) return sequence(literal(`${a}`), sameLength(lowRest, highRest))
  const fullLow = /^0*$/.test(lowRest)
  const fullHigh = /^9*$/.test(highRest)
  const middle = digits(fullLow ? a : a + 1, fullHigh ? b : b - 1)
  return choice(
    fullLow ? never : sequence(literal(`${a}`), sameLength(lowRest, '9'.repeat(lowRest.length))),
    sequence(middle, repeat(digit, lowRest.length, lowRest.length)),
    fullHigh ? never : sequence(literal(`${b}`), sameLength('0'.repeat(highRest.length), highRest)),
  )
}

function digits(from: number, to: number): Expression {
  return from > to ? never : chars(charSet([0x30 + from, 0x30 + to]))
}

/** The numbers from `low`, which is not negative, to `high`. */
function magnitudes(low: Bound, high: Bound | undefined): Expression {
  const [lowWhole, lowFraction] = decimalParts(low.value)
  const lowEdge: Edge = { digits: lowFraction, exclusive: low.exclusive }
  if (high === undefined) {
    return choice(withFraction(lowWhole, lowEdge, undefined), sequence(wholeNumbers(lowWhole + 1n, undefined), anyFraction))
  }
  const [highWhole, highFraction] = decimalParts(high.value)
  const highEdge: Edge = { digits: highFraction, exclusive: high.exclusive }
  if (lowWhole > highWhole) return never
  if (lowWhole === highWhole) return withFraction(lowWhole, lowEdge, highEdge)
  return choice(
    withFraction(lowWhole, lowEdge, undefined),
    sequence(wholeNumbers(lowWhole + 1n, highWhole - 1n), anyFraction),
    withFraction(highWhole, undefined, highEdge),
  )
}

type Edge = { readonly digits: string; readonly exclusive: boolean }

const anyFraction = optional(sequence(literal('.'), repeat(digit, 1, fractionDigits)))

/** One whole number with the fractions between two edges; few enough digits that no two are the same double. */
function withFraction(whole: bigint, low: Edge | undefined, high: Edge | undefined): Expression {
  const bounds = Math.max(low?.digits.length ?? 0, high?.digits.length ?? 0)
  const most = Math.max(1, bounds, 15 - whole.toString().length)
  const { bare, more } = fractions(low, high, Math.min(most, 40))
  const text = literal(whole.toString())
  return choice(bare ? text : never, sequence(text, literal('.'), more))
}

/** The digits that may follow: none (`bare`), or `more`, of at most `most` digits. */
function fractions(low: Edge | undefined, high: Edge | undefined, most: number): { bare: boolean; more: Expression } {
  const lowFree = low === undefined || (isZero(low) && !low.exclusive)
  const bare = lowFree && (high === undefined || !isZero(high) || !high.exclusive)
  if (most === 0) return { bare, more: never }
  if (lowFree && high === undefined) return { bare: true, more: repeat(digit, 1, most) }
  if (lowFree && high !== undefined && isZero(high)) {
    return { bare, more: high.exclusive ? never : repeat(literal('0'), 1, most) }
  }
  if (high === undefined && low !== undefined && isZero(low)) {
    // Above zero: one digit that is not zero, and any after it.
    const more = sequence(repeat(literal('0'), 0, most - 1), digits(1, 9), repeat(digit, 0, most - 1))
    return { bare, more }
  }
  const first = lowFree ? 0 : Number(low?.digits[0] ?? 0)
  const last = high === undefined ? 9 : Number(high.digits[0] ?? 0)
  const options: Expression[] = []
  const tight = (value: number, toLow: boolean, toHigh: boolean): void => {
    const rest = fractions(toLow ? shift(low) : undefined, toHigh ? shift(high) : undefined, most - 1)
    options.push(rest.bare ? sequence(literal(`${value}`), optional(rest.more)) : sequence(literal(`${value}`), rest.more))
  }
  if (first === last) tight(first, !lowFree, high !== undefined)
  else if (first < last) {
    if (!lowFree) tight(first, true, false)
    const from = lowFree ? first : first + 1
    const to = high === undefined ? last : last - 1
    options.push(sequence(digits(from, to), repeat(digit, 0, most - 1)))
    if (high !== undefined) tight(last, false, true)
  }
  return { bare, more: choice(...options) }
}

function shift(edge: Edge | undefined): Edge | undefined {
  return edge === undefined ? undefined : { ...edge, digits: edge.digits.slice(1) }
}

function isZero(edge: Edge): boolean {
  return /^0*$/.test(edge.digits)
}

/** The whole part and the decimals of a number that is not negative, as in JSON. */
export function decimalParts(value: number): [whole: bigint, fraction: string] {
  const [mantissa = '0', exponentText = '0'] = value.toString().split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  const exponent = Number(exponentText)
  if (exponent >= 0) {
    const moved = fraction.padEnd(exponent, '0')
    return [BigInt(whole + moved.slice(0, exponent)), moved.slice(exponent)]
  }
  const moved = whole.padStart(1 - exponent, '0')
  return [BigInt(moved.slice(0, exponent)), moved.slice(exponent) + fraction]
}
