import { spend, spendText } from './budget.ts'
import { convertText, isForeign } from './foreign-text.ts'
import { runtimeError } from './jinja-error.ts'
import { compareTexts, floatText, integerText, quoteText } from './text.ts'
import { type Dict, type DictEntry, isA, type Value } from './value.ts'

/** Python's `str`: what `{{ value }}` prints. */
export function toText(value: Value): string {
  if (typeof value === 'string') return value
  if (isA(value, 'markup')) return value.text
  return isA(value, 'undefined') ? '' : toRepr(value)
}

/** Python's `repr`: how a value is printed inside a list or a dictionary. */
export function toRepr(value: Value): string {
  spend(1)
  if (value === null) return 'None'
  if (Array.isArray(value)) return joinTexts(['[', joinTexts(value.map(toRepr), ', '), ']'])
  if (typeof value === 'string') return quoteText(value)
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'number') return Number.isInteger(value) ? integerText(value) : floatText(value)
  switch (value.type) {
    case 'float':
      return value.written ?? floatText(value.value)
    case 'int':
      return value.written
    case 'undefined':
      return 'Undefined'
    case 'markup':
      return `Markup(${quoteText(value.text)})`
    case 'tuple':
      return joinTexts(['(', joinTexts(value.items.map(toRepr), ', '), value.items.length === 1 ? ',)' : ')'])
    case 'dict':
      return joinTexts([
        '{',
        joinTexts(
          entriesOf(value).map(({ key, value: item }) => joinTexts([toRepr(key), ': ', toRepr(item)])),
          ', ',
        ),
        '}',
      ])
    case 'range': {
      const { start, step, length } = value
      return `range(${start}, ${start + step * length}${step === 1 ? '' : `, ${step}`})`
    }
    case 'stream':
      return value.length === undefined
        ? `<${value.typeName} object>`
        : joinTexts([value.typeName, '([', repeatable(value.read()), '])'])
    case 'callable':
      return `<function ${value.name}>`
    case 'native':
      return value.text()
  }
}

/** The texts in one; their length is paid before it is built. */
export function joinTexts(parts: readonly string[], separator = ''): string {
  let length = separator.length * Math.max(0, parts.length - 1)
  for (const part of parts) length += part.length
  spendText(length)
  return parts.join(separator)
}

type JsonStyle = {
  readonly ensureAscii: boolean
  /** The indentation of one level; undefined: everything on one line. */
  readonly indent: string | undefined
  readonly itemSeparator: string
  readonly keySeparator: string
  readonly sortKeys: boolean
  /** Write generators and views as lists instead of refusing them. */
  readonly streams: boolean
}

/** Python's `json.dumps`. Throws for a value that JSON cannot represent. */
export function toJson(value: Value, style: JsonStyle, depth = 0): string {
  spend(1)
  if (value === null) return 'null'
  if (typeof value === 'string') return jsonText(value, style)
  if (typeof value === 'boolean') return value ? 'true' : 'false'
  if (typeof value === 'number') return Number.isInteger(value) ? integerText(value) : jsonFloat(value)
  if (Array.isArray(value)) return jsonList(value, style, depth)
  switch (value.type) {
    case 'float':
      return value.written ?? jsonFloat(value.value)
    case 'int':
      return value.written
    case 'tuple':
      return jsonList(value.items, style, depth)
    case 'dict': {
      const entries = style.sortKeys ? sorted(entriesOf(value)) : entriesOf(value)
      const parts = entries.map(({ key, value: item }) =>
        joinTexts([jsonText(jsonKey(key), style), style.keySeparator, toJson(item, style, depth + 1)]),
      )
      return enclose('{}', parts, { style, depth })
    }
    case 'markup':
      return jsonText(value.text, style)
    case 'undefined':
      throw unserializable('Undefined')
    case 'range':
      throw unserializable('range')
    case 'stream': {
      if (!style.streams) throw unserializable(value.typeName)
      const items = value.read()
      return jsonList(Array.from({ [Symbol.iterator]: () => items }), style, depth)
    }
    case 'native':
      throw unserializable(value.typeName)
    case 'callable':
      throw unserializable('function')
  }
}

function jsonList(items: readonly Value[], style: JsonStyle, depth: number): string {
  return enclose(
    '[]',
    items.map((item) => toJson(item, style, depth + 1)),
    { style, depth },
  )
}

function enclose(brackets: '[]' | '{}', parts: readonly string[], { style, depth }: { style: JsonStyle; depth: number }): string {
  if (parts.length === 0) return brackets
  const { indent, itemSeparator } = style
  const [open, close] = brackets
  if (indent === undefined) return joinTexts([open ?? '', joinTexts(parts, itemSeparator), close ?? ''])
  spendText(indent.length * (depth + 1))
  const line = `\n${indent.repeat(depth + 1)}`
  return joinTexts([open ?? '', line, joinTexts(parts, `${itemSeparator}${line}`), `\n${indent.repeat(depth)}`, close ?? ''])
}

function jsonText(text: string, { ensureAscii }: JsonStyle): string {
  spendText(text.length * (ensureAscii ? 6 : 2))
  const json = isForeign(text) ? quoteForeign(text) : JSON.stringify(text)
  if (!ensureAscii) return json
  return convertText(json, (plain) =>
    plain.replace(/[\x7f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )
}

/** Quotes, backslashes and control characters, and the partners of the first two. */
const escapedUnits = /["\\]|[^ -\uffff]|(?<![\ud800-\udbff])[\udc22\udc5c]/g

/** `JSON.stringify` of a text with foreign characters, which it would escape. */
function quoteForeign(text: string): string {
  return `"${text.replace(escapedUnits, (unit) => escapes.get(unit) ?? escapeUnit(unit))}"`
}

const escapes = new Map<string, string>()

function escapeUnit(unit: string): string {
  const escaped = convertText(unit, (plain) => JSON.stringify(plain).slice(1, -1))
  escapes.set(unit, escaped)
  return escaped
}

function jsonFloat(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  return Number.isFinite(value) ? floatText(value) : value > 0 ? 'Infinity' : '-Infinity'
}

function jsonKey(key: Value): string {
  if (typeof key === 'string') return key
  if (key === null) return 'null'
  if (typeof key === 'boolean') return key ? 'true' : 'false'
  if (typeof key === 'number' || isA(key, 'float') || isA(key, 'int')) return toRepr(key)
  throw runtimeError('keys must be str, int, float, bool or None')
}

function sorted(entries: readonly DictEntry[]): DictEntry[] {
  return [...entries].sort((a, b) => compareTexts(toText(a.key), toText(b.key)))
}

function entriesOf(value: Dict): DictEntry[] {
  return [...value.entries.values()]
}

function repeatable(items: Iterator<Value>): string {
  return joinTexts(Array.from({ [Symbol.iterator]: () => items }, toRepr), ', ')
}

function unserializable(name: string): Error {
  return runtimeError(`Object of type ${name} is not JSON serializable`)
}
