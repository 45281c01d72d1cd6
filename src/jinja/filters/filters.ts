import { escapeHtml } from '../operations/arithmetic.ts'
import { getAttribute, ownAttribute } from '../operations/attributes.ts'
import { pairsOf } from '../operations/container-methods.ts'
import { formatPercent } from '../texts/format-percent.ts'
import { justifyText, replaceText } from '../texts/string-methods.ts'
import { bindArguments } from '../values/arguments.ts'
import { spendCharacters, spendText } from '../values/budget.ts'
import { asInteger, isTrue, refuseUndefined } from '../values/coerce.ts'
import { convertText, convertWords, plainText } from '../values/foreign-text.ts'
import { iterate, lengthOf } from '../values/iterate.ts'
import { runtimeError } from '../values/jinja-error.ts'
import { capitalize } from '../values/letter-case.ts'
import { joinTexts, toJson, toRepr, toText } from '../values/print.ts'
import { countCharacters, sliceText, splitLines, trimText } from '../values/text.ts'
import { float, generator, isA, orElse, tuple, typeName, type Value } from '../values/value.ts'
import type { Filter } from './environment.ts'
import { numberFor, round, toFloat, toInteger } from './filter-numbers.ts'
import { sequenceFilters } from './sequence-filters.ts'

/** The filters of jinja2 3.1 that have a use in a prompt, with `tojson` as `transformers` has it. */
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
      if (typeof input === 'string') spendCharacters(input.length * 4)
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
    title: (input) => {
      const given = toText(input)
      spendCharacters(given.length * 8)
      return convertWords(given, (text) =>
        text
          .split(/([-\s({[<]+)/)
          .map(capitalize)
          .join(''),
      )
    },
    tojson: (input, call, { rules }) => {
      const parameters = ['ensure_ascii', 'indent', 'separators', 'sort_keys'] as const
      const [ensureAscii = false, indentBy = null, separators = null, sortKeys = false] = bindArguments(call, {
        name: 'tojson',
        parameters,
      })
      const indentText =
        indentBy === null
          ? undefined
          : typeof indentBy === 'string'
            ? indentBy
            : justifyText('ljust', '', { width: asInteger(indentBy) })
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
      const size = lengthOf(input)
      if (size === undefined) throw runtimeError(`object of type '${typeName(input)}' has no len()`)
      // A list that is short enough is returned as it is.
      const fits = typeof input !== 'string' && size <= sizes.length + sizes.leeway
      return fits ? input : truncate(textFor(input), { ...sizes, killWords: isTrue(killWords), end: toText(end) })
    },
    upper: (input) => convertText(toText(input), (text) => text.toUpperCase()),
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

function indent(text: string, { by, first, blank }: { by: string; first: boolean; blank: boolean }): string {
  const all = splitLines(`${text}\n`)
  const [head = ''] = all
  const rest = all.slice(1)
  spendText(by.length * (rest.length + 1))
  const lines = rest.map((line) => (line !== '' || blank ? by + line : line))
  return (first ? by : '') + joinTexts([head].concat(lines), '\n')
}

type TruncateOptions = { readonly length: number; readonly leeway: number; readonly killWords: boolean; readonly end: string }

function truncate(text: string, { length, leeway, killWords, end }: TruncateOptions): string {
  const kept = length - countCharacters(end)
  if (kept < 0) throw runtimeError(`expected length >= ${countCharacters(end)}, got ${length}`)
  if (leeway < 0) throw runtimeError(`expected leeway >= 0, got ${leeway}`)
  if (countCharacters(text) <= length + leeway) return text
  const cut = sliceText(text, 0, kept)
  if (killWords) return cut + end
  const space = cut.lastIndexOf(' ')
  return (space === -1 ? cut : cut.slice(0, space)) + end
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
