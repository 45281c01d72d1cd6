import { spendText } from '../values/budget.ts'
import { asNumber } from '../values/coerce.ts'
import { derivedFrom, plainText } from '../values/foreign-text.ts'
import { runtimeError } from '../values/jinja-error.ts'
import { toRepr, toText } from '../values/print.ts'
import { countCharacters, sliceText } from '../values/text.ts'
import { float, type NamedArguments, typeName, type Value } from '../values/value.ts'
import { formatNumber } from './format-percent.ts'

type Lookups = {
  readonly positional: readonly Value[]
  readonly named: NamedArguments
  readonly attribute: (value: Value, name: string) => Value
  readonly item: (value: Value, key: Value) => Value
}

/** Python's `'{} and {name:>8}'.format(…)`. Throws for missing fields and invalid formats. */
export function formatBraces(format: string, lookups: Lookups): string {
  return derivedFrom([format], formatPlain(plainText(format), lookups, { levels: 2, index: { next: 0 } }))
}

type FieldNesting = {
  /** How deep fields may still be inside of formats. */
  readonly levels: number
  /** The argument of the next field without a name. */
  readonly index: { next: number }
}

function formatPlain(format: string, lookups: Lookups, { levels, index }: FieldNesting): string {
  if (levels === 0) throw runtimeError('Max string recursion exceeded')
  spendText(format.length)
  let result = ''
  for (let at = 0; at < format.length; ) {
    const character = format.charAt(at)
    if (character !== '{' && character !== '}') {
      result += character
      at += 1
    } else if (format.charAt(at + 1) === character) {
      result += character
      at += 2
    } else if (character === '}') {
      throw runtimeError("Single '}' encountered in format string")
    } else {
      const end = fieldEnd(format, at + 1)
      const { name, conversion, spec } = splitField(format.slice(at + 1, end))
      const field = /^[^.[]*/.exec(name)?.[0] ?? ''
      const first = field === '' ? String(index.next++) : field
      const value = follow(resolve(first, lookups), name.slice(field.length), lookups)
      // A format may contain fields, such as a width.
      const inner = spec.includes('{') ? formatPlain(spec, lookups, { levels: levels - 1, index }) : spec
      const text = formatValue(conversion === 'r' ? toRepr(value) : conversion === 's' ? toText(value) : value, inner)
      spendText(text.length)
      result += text
      at = end + 1
    }
  }
  return result
}

function fieldEnd(format: string, from: number): number {
  let depth = 1
  for (let at = from; at < format.length; at += 1) {
    if (format[at] === '{') depth += 1
    if (format[at] === '}') depth -= 1
    if (depth === 0) return at
  }
  throw runtimeError("expected '}' before end of string")
}

function splitField(field: string): { name: string; conversion: string | undefined; spec: string } {
  const colon = field.indexOf(':')
  const head = colon === -1 ? field : field.slice(0, colon)
  const [name = '', conversion] = head.split('!')
  return { name, conversion, spec: colon === -1 ? '' : field.slice(colon + 1) }
}

function resolve(field: string, { positional, named }: Lookups): Value {
  const value = /^\d+$/.test(field) ? positional[Number(field)] : named.get(field)
  if (value !== undefined) return value
  throw runtimeError(/^\d+$/.test(field) ? 'Replacement index out of range for positional args tuple' : `KeyError: '${field}'`)
}

function follow(start: Value, path: string, { attribute, item }: Lookups): Value {
  let value = start
  for (const [, name, key] of path.matchAll(/\.([^.[]+)|\[([^\]]{0,100})\]/g)) {
    if (name !== undefined) value = attribute(value, name)
    else if (key !== undefined) value = item(value, /^\d+$/.test(key) ? Number(key) : key)
  }
  return value
}

const specPattern = /^(?:([\s\S])?([<>=^]))?([-+ ])?(#)?(0)?(\d+)?([,_])?(?:\.(\d+))?([a-zA-Z%])?$/u

function formatValue(value: Value, spec: string): string {
  if (spec === '') return toText(value)
  const match = specPattern.exec(spec)
  if (match === null) throw runtimeError(`Invalid format specifier '${spec}'`)
  const [, filling, alignment, sign, alternate, zero, width, grouping, digits, kind] = match
  const number = typeof value === 'string' || kind === 's' ? undefined : asNumber(value)
  refuseFormat(value, { kind, grouping, digits })
  const precision = digits === undefined ? undefined : Number(digits)
  if (precision !== undefined && precision > 100) spendText(precision)
  const fill = filling ?? (zero === undefined ? ' ' : '0')
  const size = width === undefined ? 0 : Number(width)
  if (number === undefined) {
    const text = toText(value)
    return align(precision === undefined ? text : sliceText(text, 0, precision), { fill, size, alignment: alignment ?? '<' })
  }
  const prefix = number.number < 0 ? '-' : sign === '+' || sign === ' ' ? sign : ''
  const plain = plainNumber(Math.abs(number.number), number.isFloat, { kind, precision, alternate: alternate !== undefined })
  const text = grouping === undefined ? plain : plain.replace(/^\d+/, (whole) => group(whole, grouping))
  const padding = alignment ?? (zero === undefined ? '>' : '=')
  if (padding !== '=') return align(prefix + text, { fill, size, alignment: padding })
  return prefix + align(text, { fill, size: size - prefix.length, alignment: '>' })
}

type Wanted = { readonly kind: string | undefined; readonly grouping: string | undefined; readonly digits: string | undefined }

/** Python refuses formats that do not fit the type. */
function refuseFormat(value: Value, { kind, grouping, digits }: Wanted): void {
  const number = typeof value === 'boolean' ? asNumber(Number(value)) : asNumber(value)
  const type = typeName(value)
  if (number === undefined && typeof value !== 'string')
    throw runtimeError(`unsupported format string passed to ${type}.__format__`)
  const fits = number === undefined ? 's' : number.isFloat ? 'eEfFgGn%' : 'bcdeEfFgGnoxX%'
  if (kind !== undefined && !fits.includes(kind)) throw runtimeError(`Unknown format code '${kind}' for object of type '${type}'`)
  if (number === undefined && grouping !== undefined) throw runtimeError(`Cannot specify '${grouping}' with 's'.`)
  const isWhole = number?.isFloat === false && (kind === undefined || 'bcdnoxX'.includes(kind))
  if (isWhole && digits !== undefined) throw runtimeError('Precision not allowed in integer format specifier')
}

type NumberStyle = { readonly kind: string | undefined; readonly precision: number | undefined; readonly alternate: boolean }

function plainNumber(number: number, isFloat: boolean, { kind, precision, alternate }: NumberStyle): string {
  if (kind === '%') return `${formatNumber(number * 100, 'f', { digits: precision })}%`
  if (kind === undefined && precision === undefined) return toText(isFloat ? float(number) : number)
  const text = formatNumber(number, kind === 'n' ? 'd' : (kind ?? 'g'), { digits: precision, alternate })
  if (text === undefined) throw runtimeError(`Unknown format code '${kind}'`)
  return text
}

function group(digits: string, separator: string): string {
  return digits.replace(/\B(?=(?:\d{3})+$)/g, separator)
}

function align(text: string, { fill, size, alignment }: { fill: string; size: number; alignment: string }): string {
  const missing = size - countCharacters(text)
  if (missing <= 0) return text
  spendText(size * fill.length)
  if (alignment === '<') return text + fill.repeat(missing)
  if (alignment === '>') return fill.repeat(missing) + text
  const left = Math.floor(missing / 2)
  return fill.repeat(left) + text + fill.repeat(missing - left)
}
