import { spendText } from '../values/budget.ts'
import { asNumber } from '../values/coerce.ts'
import { convertText, derivedFrom, plainText } from '../values/foreign-text.ts'
import { runtimeError, undefinedError } from '../values/jinja-error.ts'
import { toRepr, toText } from '../values/print.ts'
import { countCharacters, sliceText } from '../values/text.ts'
import { type Dict, isA, typeName, type Value } from '../values/value.ts'

/** A key has a limit, so that many open brackets cost no more than their number. */
const directive = /%(?:\(([^)]{0,100})\))?([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+))?[hlL]?([\s\S])/g

/** Python's `'%s and %d' % values`. Throws when the values do not match the format. */
export function formatPercent(format: string, values: Value): string {
  return derivedFrom([format], formatPlain(plainText(format), values))
}

function formatPlain(format: string, values: Value): string {
  const mapping = isA(values, 'dict') ? values : undefined
  const list = isA(values, 'tuple') ? values.items : [values]
  let used = 0
  const take = (): Value => {
    const value = list[used]
    if (value === undefined) throw runtimeError('not enough arguments for format string')
    used += 1
    return value
  }
  const result = format.replace(directive, (...groups) => {
    const [, key, flags = '', width, precision, kind = ''] = groups as (string | undefined)[]
    if (kind === '%') return '%'
    const size = width === '*' ? numberOf(take()) : width === undefined ? 0 : Number(width)
    const digits = precision === '*' ? numberOf(take()) : precision === undefined ? undefined : Number(precision)
    const value = key === undefined ? take() : lookUp(mapping, key)
    if (digits !== undefined && digits > 100) spendText(digits)
    const text = convert(value, { kind, flags, digits })
    spendText(Math.max(text.length, size))
    return pad(text, { flags, size, kind })
  })
  // Python checks for surplus values only where the value cannot be a mapping.
  const counted = !Array.isArray(values) && !isA(values, 'dict') && !isA(values, 'range') && !isA(values, 'undefined')
  if (counted && used < list.length) throw runtimeError('not all arguments converted during string formatting')
  return result
}

function lookUp(mapping: Dict | undefined, key: string): Value {
  if (mapping === undefined) throw runtimeError('format requires a mapping')
  const entry = mapping.entries.get(key)
  if (entry === undefined) throw runtimeError(`KeyError: '${key}'`)
  return entry.value
}

type Conversion = { readonly kind: string; readonly flags: string; readonly digits: number | undefined }

function convert(value: Value, { kind, flags, digits }: Conversion): string {
  if (kind === 's' || kind === 'r' || kind === 'a') {
    const text = kind === 's' ? toText(value) : kind === 'r' ? toRepr(value) : convertText(toRepr(value), escapeNonAscii)
    return digits === undefined ? text : sliceText(text, 0, digits)
  }
  if (kind === 'c') return typeof value === 'string' ? value : String.fromCodePoint(numberOf(value))
  const number = numberOf(value)
  if ('xXo'.includes(kind) && asNumber(value)?.isFloat === true)
    throw runtimeError(`%${kind} format: an integer is required, not float`)
  const sign = number < 0 || Object.is(number, -0) ? '-' : flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : ''
  const body = formatNumber(Math.abs(number), kind, { digits, alternate: flags.includes('#') })
  if (body === undefined) throw runtimeError(`unsupported format character '${kind}'`)
  return sign + body
}

/** Python's `ascii`. */
function escapeNonAscii(text: string): string {
  return text.replace(/[^\0-\x7f]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0
    const [letter, width] = code <= 0xff ? ['x', 2] : code <= 0xffff ? ['u', 4] : ['U', 8]
    return `\\${letter}${code.toString(16).padStart(Number(width), '0')}`
  })
}

type NumberOptions = { readonly digits: number | undefined; readonly alternate?: boolean }

/** A number without its sign, as C's `printf` writes it; undefined for an unknown conversion. */
export function formatNumber(number: number, kind: string, { digits, alternate = false }: NumberOptions): string | undefined {
  const whole = BigInt(Number.isFinite(number) ? Math.trunc(number) : 0)
  const padded = (text: string) => text.padStart(digits ?? 0, '0')
  switch (kind) {
    case 'd':
    case 'i':
    case 'u':
      return padded(whole.toString())
    case 'x':
      return (alternate ? '0x' : '') + padded(whole.toString(16))
    case 'X':
      return (alternate ? '0X' : '') + padded(whole.toString(16).toUpperCase())
    case 'o':
      return (alternate ? '0o' : '') + padded(whole.toString(8))
    case 'b':
      return (alternate ? '0b' : '') + padded(whole.toString(2))
    case 'f':
    case 'F':
      return Number.isFinite(number) ? fixedText(number, digits ?? 6) : infinite(number)
    case 'e':
    case 'E': {
      const text = exponential(number, digits ?? 6)
      return kind === 'E' ? text.toUpperCase() : text
    }
    case 'g':
    case 'G': {
      const text = general(number, digits ?? 6, alternate)
      return kind === 'G' ? text.toUpperCase() : text
    }
    default:
      return undefined
  }
}

/** A number with this many decimals; halves go to the even digit, as in Python. */
export function fixedText(number: number, digits: number): string {
  const places = Math.max(0, Math.min(70, digits))
  const rounded = number.toFixed(places)
  const exact = number.toFixed(places + 30)
  const cut = exact.slice(0, -30)
  const middle = exact.slice(-30) === `5${'0'.repeat(29)}`
  return middle && /[02468]\.?$/.test(cut) ? cut.replace(/\.$/, '') : rounded
}

function exponential(number: number, digits: number): string {
  if (!Number.isFinite(number)) return infinite(number)
  return number.toExponential(Math.min(100, digits)).replace(/e([+-])(\d)$/, 'e$10$2')
}

function general(number: number, digits: number, keepZeros: boolean): string {
  if (!Number.isFinite(number)) return infinite(number)
  const precision = Math.max(1, Math.min(100, digits))
  const exponent = number === 0 ? 0 : Number(number.toExponential(precision - 1).split('e')[1])
  const text =
    exponent < -4 || exponent >= precision
      ? exponential(number, precision - 1)
      : number.toFixed(Math.max(0, Math.min(100, precision - 1 - exponent)))
  if (keepZeros || !text.includes('.')) return text
  return text.replace(/\.?0+(e|$)/, '$1')
}

function infinite(number: number): string {
  return Number.isNaN(number) ? 'nan' : 'inf'
}

function pad(text: string, { flags, size, kind }: { flags: string; size: number; kind: string }): string {
  const missing = size - countCharacters(text)
  if (missing <= 0) return text
  if (flags.includes('-')) return text + ' '.repeat(missing)
  if (!flags.includes('0') || 'sra%c'.includes(kind)) return ' '.repeat(missing) + text
  const sign = /^[-+ ]/.exec(text)?.[0] ?? ''
  return sign + '0'.repeat(missing) + text.slice(sign.length)
}

function numberOf(value: Value): number {
  if (typeof value === 'number') return value
  if (typeof value === 'boolean') return Number(value)
  if (isA(value, 'float')) return value.value
  if (isA(value, 'undefined')) throw undefinedError(value.message)
  throw runtimeError(`%d format: a real number is required, not ${typeName(value)}`)
}
