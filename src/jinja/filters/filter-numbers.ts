import { fixedText } from '../texts/format-percent.ts'
import { asNumber, refuseUndefined } from '../values/coerce.ts'
import { plainText } from '../values/foreign-text.ts'
import { runtimeError } from '../values/jinja-error.ts'
import { trimText } from '../values/text.ts'
import { float, typeName, type Value } from '../values/value.ts'

const floatPattern = /^[-+]?(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:e[-+]?\d+)?$/i

/** The input of a filter that takes numbers only. */
export function numberFor(value: Value): { number: number; isFloat: boolean } {
  refuseUndefined(value)
  const number = asNumber(value)
  if (number === undefined) throw runtimeError(`must be a number, not '${typeName(value)}'`)
  return number
}

/** Python's `float(value)`; undefined where it fails. */
export function toFloat(value: Value): number | undefined {
  if (typeof value !== 'string') return asNumber(value)?.number
  const text = asciiDigits(trimText(plainText(value), { start: true, end: true }))
  if (floatPattern.test(text)) return Number(text.replaceAll('_', ''))
  const special = /^([-+]?)(?:(inf(?:inity)?)|nan)$/i.exec(text)
  if (special === null) return undefined
  return special[2] === undefined ? Number.NaN : special[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
}

/** Python's `int(value)` of any value; undefined where it fails. */
export function toInteger(value: Value, base: number): number | undefined {
  const whole =
    typeof value === 'string'
      ? parseInteger(asciiDigits(trimText(plainText(value), { start: true, end: true })), base)
      : undefined
  if (whole !== undefined) return whole
  const number = toFloat(value)
  return number === undefined || !Number.isFinite(number) ? undefined : Math.trunc(number) + 0
}

function parseInteger(text: string, base: number): number | undefined {
  if (base < 2 || base > 36) return undefined
  const match = /^([-+]?)(?:0([box]))?([\da-z]+(?:_[\da-z]+)*)$/i.exec(text)
  if (match === null) return undefined
  const [, sign, prefix, digits = ''] = match
  const prefixBase = prefix === undefined ? base : { b: 2, o: 8, x: 16 }[prefix.toLowerCase()]
  const all = digits.replaceAll('_', '').toLowerCase()
  const valid = prefixBase === base && [...all].every((digit) => Number.parseInt(digit, 36) < base)
  return valid ? (sign === '-' ? -1 : 1) * Number.parseInt(all, base) : undefined
}

/** Python's rounding: halves go to the even neighbour. `ceil` and `floor` always give a float. */
export function round(value: Value, precision: number, method: string): Value {
  const { number, isFloat } = numberFor(value)
  const factor = 10 ** precision
  if (method === 'ceil') return float(Math.ceil(number * factor) / factor)
  if (method === 'floor') return float(Math.floor(number * factor) / factor)
  if (method !== 'common') throw runtimeError('method must be common, ceil or floor')
  if (!isFloat) return precision >= 0 ? number : roundHalfEven(number * factor) / factor
  if (precision > 0) return float(Number(fixedText(number, precision)))
  return float(roundHalfEven(number * factor) / factor)
}

function roundHalfEven(number: number): number {
  const low = Math.floor(number)
  const rest = number - low
  if (rest !== 0.5) return Math.round(number)
  return low % 2 === 0 ? low : low + 1
}

/** Python reads the decimal digits of all scripts. */
function asciiDigits(text: string): string {
  if (!/[^\0-\x7f]/.test(text)) return text
  return text.replace(/(?![0-9])\p{Nd}/gu, (digit) => {
    let code = digit.codePointAt(0) ?? 0
    let above = 0
    // Each script has its ten digits in order, and some follow another script's.
    while (/^\p{Nd}$/u.test(String.fromCodePoint(code - 1))) {
      code -= 1
      above += 1
    }
    return String(above % 10)
  })
}
