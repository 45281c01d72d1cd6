import { bindArguments } from './arguments.ts'
import { escapeHtml } from './arithmetic.ts'
import { getAttribute, getItem, ownAttribute } from './attributes.ts'
import { asInteger, asNumber, isTrue, refuseUndefined } from './coerce.ts'
import { pairsOf } from './container-methods.ts'
import type { Filter } from './environment.ts'
import { convertText, convertWords, derivedFrom, plainText } from './foreign-text.ts'
import { fixedText, formatPercent } from './format-percent.ts'
import { iterate, lengthOf } from './iterate.ts'
import { runtimeError } from './jinja-error.ts'
import { toJson, toRepr, toText } from './print.ts'
import { sequenceFilters } from './sequence-filters.ts'
import { capitalize, justifyText, replaceText, splitText } from './string-methods.ts'
import { countCharacters, sliceText, splitLines, trimText } from './text.ts'
import { float, generator, isA, orElse, tuple, typeName, type Value } from './value.ts'
import { wrapText } from './wrap-text.ts'

/** The filters of jinja2 3.1, with `tojson` as `transformers` has it. `random` and `urlize` have no use in a prompt. */
export const filters: ReadonlyMap<string, Filter> = new Map<string, Filter>(
  Object.entries({
    ...sequenceFilters,
    abs: (input) => {
      const number = numberFor(input)
      return number.isFloat ? float(Math.abs(number.number)) : Math.abs(number.number)
    },
    attr: (input, call, { rules }) => {
      const [name = ''] = bindArguments(call, { name: 'attr', parameters: ['name'], required: 1 })
      return orElse(ownAttribute(input, toText(name), rules), () => getAttribute(null, toText(name), rules))
    },
    capitalize: (input) => capitalize(toText(input)),
    center: (input, call) => {
      const [width = 80] = bindArguments(call, { name: 'center', parameters: ['width'] })
      return justifyText('center', toText(input), { width: asInteger(width) })
    },
    count: lengthFilter,
    d: defaultFilter,
    default: defaultFilter,
    e: (input) => ({ type: 'markup', text: escapeHtml(input) }),
    escape: (input) => ({ type: 'markup', text: escapeHtml(input) }),
    filesizeformat: (input, call) => {
      const [binary = false] = bindArguments(call, { name: 'filesizeformat', parameters: ['binary'] })
      return fileSize(toFloat(input) ?? 0, isTrue(binary))
    },
    float: (input, call) => {
      const [otherwise = float(0)] = bindArguments(call, { name: 'float', parameters: ['default'] })
      refuseUndefined(input)
      const number = toFloat(input)
      return number === undefined ? otherwise : float(number)
    },
    forceescape: (input) => ({ type: 'markup', text: escapeHtml(toText(input)) }),
    format: (input, { positional, named }) => {
      if (positional.length > 0 && named.size > 0) {
        throw runtimeError("can't handle positional and keyword arguments at the same time")
      }
      if (named.size === 0) return formatPercent(toText(input), tuple(...positional))
      return formatPercent(toText(input), {
        type: 'dict',
        entries: new Map([...named].map(([key, value]) => [key, { key, value }])),
      })
    },
    indent: (input, call) => {
      const parameters = ['width', 'first', 'blank'] as const
      const [width = 4, first = false, blank = false] = bindArguments(call, { name: 'indent', parameters })
      const by = typeof width === 'string' ? width : justifyText('ljust', '', { width: asInteger(width) })
      return indent(textFor(input), { by, first: isTrue(first), blank: isTrue(blank) })
    },
    int: (input, call) => {
      const [otherwise = 0, base = 10] = bindArguments(call, { name: 'int', parameters: ['default', 'base'] })
      refuseUndefined(input)
      return orElse(toInteger(input, asInteger(base)), () => otherwise)
    },
    items: (input) => {
      if (isA(input, 'undefined')) return generator([])
      if (!isA(input, 'dict')) throw runtimeError('Can only get item pairs from a mapping.')
      return generator(pairsOf(input))
    },
    length: lengthFilter,
    lower: (input) => convertText(toText(input), (text) => text.toLowerCase()),
    pprint: (input) => toRepr(input),
    replace: (input, call) => {
      const parameters = ['old', 'new', 'count'] as const
      const [from = '', to = '', count = null] = bindArguments(call, { name: 'replace', parameters, required: 2 })
      return replaceText(toText(input), toText(from), { to: toText(to), count: count === null ? -1 : asInteger(count) })
    },
    round: (input, call) => {
      const [precision = 0, method = 'common'] = bindArguments(call, { name: 'round', parameters: ['precision', 'method'] })
      return round(input, asInteger(precision), plainText(toText(method)))
    },
    safe: (input) => ({ type: 'markup', text: toText(input) }),
    string: (input) => (isA(input, 'markup') ? input : toText(input)),
    striptags: (input) => {
      const text = toText(input)
      const bare = plainText(text)
        .replace(/<!--[\s\S]*?-->/g, '')
        .replace(/<[^>]*>/g, '')
      return derivedFrom([text], splitText(bare, undefined).join(' '))
    },
    title: (input) =>
      convertWords(toText(input), (text) =>
        text
          .split(/([-\s({[<]+)/)
          .map(capitalize)
          .join(''),
      ),
    tojson: (input, call, { rules }) => {
      const parameters = ['ensure_ascii', 'indent', 'separators', 'sort_keys'] as const
      const [ensureAscii = false, indentBy = null, separators = null, sortKeys = false] = bindArguments(call, {
        name: 'tojson',
        parameters,
      })
      const indentText = indentBy === null ? undefined : typeof indentBy === 'string' ? indentBy : ' '.repeat(asInteger(indentBy))
      const [itemSeparator = null, keySeparator = null] = separators === null ? [] : iterate(separators)
      return toJson(input, {
        ensureAscii: isTrue(ensureAscii),
        indent: indentText,
        itemSeparator: itemSeparator === null ? (indentText === undefined ? ', ' : ',') : toText(itemSeparator),
        keySeparator: keySeparator === null ? ': ' : toText(keySeparator),
        sortKeys: isTrue(sortKeys),
        streams: rules === 'llama.cpp',
      })
    },
    trim: (input, call) => {
      const [set = null] = bindArguments(call, { name: 'trim', parameters: ['chars'] })
      return trimText(toText(input), { start: true, end: true, characters: set === null ? undefined : toText(set) })
    },
    truncate: (input, call) => {
      const parameters = ['length', 'killwords', 'end', 'leeway'] as const
      const [length = 255, killWords = false, end = '...', leeway = 5] = bindArguments(call, { name: 'truncate', parameters })
      const sizes = { length: asInteger(length), leeway: leeway === null ? 5 : asInteger(leeway) }
      if ((lengthOf(input) ?? sizes.length) <= sizes.length + sizes.leeway && typeof input !== 'string') return input
      return truncate(textFor(input), { ...sizes, killWords: isTrue(killWords), end: toText(end) })
    },
    upper: (input) => convertText(toText(input), (text) => text.toUpperCase()),
    urlencode: (input) => {
      if (typeof input === 'string' || lengthOf(input) === undefined)
        return replaceText(quoteUrl(toText(input)), '%2F', { to: '/' })
      const pairs = Array.from(isA(input, 'dict') ? pairsOf(input) : iterate(input))
      return pairs
        .map((pair) => Array.from(iterate(pair), (part) => replaceText(quoteUrl(toText(part)), '%20', { to: '+' })).join('='))
        .join('&')
    },
    wordcount: (input) => plainText(toText(input)).match(/[\p{L}\p{N}_]+/gu)?.length ?? 0,
    wordwrap: (input, call) => {
      const parameters = ['width', 'break_long_words', 'wrapstring', 'break_on_hyphens'] as const
      const [width = 79, breakLong = true, joint = null, onHyphens = true] = bindArguments(call, { name: 'wordwrap', parameters })
      const options = { width: asInteger(width), breakLong: isTrue(breakLong), onHyphens: isTrue(onHyphens) }
      const by = joint === null ? '\n' : toText(joint)
      return splitLines(textFor(input))
        .map((line) => wrapText(line, options).join(by))
        .join(by)
    },
    xmlattr: (input, call, { rules }) => {
      const [autospace = true] = bindArguments(call, { name: 'xmlattr', parameters: ['autospace'] })
      if (!isA(input, 'dict')) throw runtimeError(`'${typeName(input)}' object has no attribute 'items'`)
      const parts = Array.from(pairsOf(input)).flatMap((pair) => {
        const [key, value] = [getItem(pair, 0, rules), getItem(pair, 1, rules)]
        if (value === null || isA(value, 'undefined')) return []
        if (/[\s/>=]/.test(plainText(toText(key)))) throw runtimeError(`Invalid character in attribute name: ${toRepr(key)}`)
        return [`${escapeHtml(key)}="${escapeHtml(value)}"`]
      })
      return (isTrue(autospace) && parts.length > 0 ? ' ' : '') + parts.join(' ')
    },
  } satisfies Record<string, Filter>),
)

function lengthFilter(input: Value): Value {
  const length = lengthOf(input)
  if (length === undefined) throw runtimeError(`object of type '${typeName(input)}' has no len()`)
  return length
}

function defaultFilter(input: Value, call: Parameters<Filter>[1]): Value {
  const parameters = ['default_value', 'boolean'] as const
  const [otherwise = '', boolean = false] = bindArguments(call, { name: 'default', parameters })
  return isA(input, 'undefined') || (isTrue(boolean) && !isTrue(input)) ? otherwise : input
}

/** The input of a filter that takes strings only. */
function textFor(value: Value): string {
  if (typeof value === 'string') return value
  refuseUndefined(value)
  throw runtimeError(`'${typeName(value)}' object is not a string`)
}

function numberFor(value: Value): { number: number; isFloat: boolean } {
  refuseUndefined(value)
  const number = asNumber(value)
  if (number === undefined) throw runtimeError(`must be a number, not '${typeName(value)}'`)
  return number
}

const floatPattern = /^[-+]?(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:e[-+]?\d+)?$/i

function toFloat(value: Value): number | undefined {
  if (typeof value !== 'string') return asNumber(value)?.number
  const text = trimText(plainText(value), { start: true, end: true })
  if (floatPattern.test(text)) return Number(text.replaceAll('_', ''))
  const special = /^([-+]?)(?:(inf(?:inity)?)|nan)$/i.exec(text)
  if (special === null) return undefined
  return special[2] === undefined ? Number.NaN : special[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
}

function toInteger(value: Value, base: number): number | undefined {
  const whole = typeof value === 'string' ? parseInteger(trimText(plainText(value), { start: true, end: true }), base) : undefined
  if (whole !== undefined) return whole
  const number = toFloat(value)
  return number === undefined || !Number.isFinite(number) ? undefined : Math.trunc(number) + 0
}

function parseInteger(text: string, base: number): number | undefined {
  const match = /^([-+]?)(?:0([box]))?([\da-z]+(?:_[\da-z]+)*)$/i.exec(text)
  if (match === null) return undefined
  const [, sign, prefix, digits = ''] = match
  const prefixBase = prefix === undefined ? base : { b: 2, o: 8, x: 16 }[prefix.toLowerCase()]
  const all = digits.replaceAll('_', '').toLowerCase()
  const valid = prefixBase === base && [...all].every((digit) => Number.parseInt(digit, 36) < base)
  return valid ? (sign === '-' ? -1 : 1) * Number.parseInt(all, base) : undefined
}

/** Python's rounding: halves go to the even neighbour. `ceil` and `floor` always give a float. */
function round(value: Value, precision: number, method: string): Value {
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

function quoteUrl(text: string): string {
  return convertText(text, (plain) =>
    encodeURIComponent(plain).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`),
  )
}

function indent(text: string, { by, first, blank }: { by: string; first: boolean; blank: boolean }): string {
  const [head = '', ...rest] = splitLines(`${text}\n`)
  const lines = rest.map((line) => (line !== '' || blank ? by + line : line))
  return (first ? by : '') + [head, ...lines].join('\n')
}

type TruncateOptions = { readonly length: number; readonly leeway: number; readonly killWords: boolean; readonly end: string }

function truncate(text: string, { length, leeway, killWords, end }: TruncateOptions): string {
  const kept = length - countCharacters(end)
  if (kept < 0) throw runtimeError(`expected length >= ${countCharacters(end)}, got ${length}`)
  if (countCharacters(text) <= length + leeway) return text
  const cut = sliceText(text, 0, kept)
  if (killWords) return cut + end
  const space = cut.lastIndexOf(' ')
  return (space === -1 ? cut : cut.slice(0, space)) + end
}

function fileSize(bytes: number, binary: boolean): string {
  const base = binary ? 1024 : 1000
  if (bytes === 1) return '1 Byte'
  if (bytes < base) return `${Math.trunc(bytes)} Bytes`
  const prefixes = binary
    ? ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB', 'ZiB', 'YiB']
    : ['kB', 'MB', 'GB', 'TB', 'PB', 'EB', 'ZB', 'YB']
  const found = prefixes.findIndex((_, index) => bytes < base ** (index + 2))
  const power = found === -1 ? prefixes.length : found + 1
  return `${(bytes / base ** power).toFixed(1)} ${prefixes[power - 1]}`
}

/** Filters that receive `Markup` as it is; the others receive its text. */
export const markupFilters: ReadonlySet<string> = new Set(['d', 'default', 'e', 'escape', 'safe', 'string'])
/** Filters that return `Markup` for `Markup`. */
export const markupKeepingFilters: ReadonlySet<string> = new Set([
  'capitalize',
  'center',
  'indent',
  'lower',
  'title',
  'trim',
  'upper',
])
