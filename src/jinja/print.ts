import { convertText } from './foreign-text.ts'
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
  if (value === null) return 'None'
  if (Array.isArray(value)) return `[${value.map(toRepr).join(', ')}]`
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
      return `(${value.items.map(toRepr).join(', ')}${value.items.length === 1 ? ',' : ''})`
    case 'dict':
      return `{${entriesOf(value)
        .map(({ key, value: item }) => `${toRepr(key)}: ${toRepr(item)}`)
        .join(', ')}}`
    case 'range': {
      const { start, step, length } = value
      return `range(${start}, ${start + step * length}${step === 1 ? '' : `, ${step}`})`
    }
    case 'stream':
      return value.length === undefined ? `<${value.typeName} object>` : `${value.typeName}([${repeatable(value.read())}])`
    case 'callable':
      return `<function ${value.name}>`
    case 'native':
      return value.text()
  }
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
      const parts = entries.map(
        ({ key, value: item }) => `${jsonText(jsonKey(key), style)}${style.keySeparator}${toJson(item, style, depth + 1)}`,
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
  if (indent === undefined) return `${brackets[0]}${parts.join(itemSeparator)}${brackets[1]}`
  const line = `\n${indent.repeat(depth + 1)}`
  return `${brackets[0]}${line}${parts.join(`${itemSeparator}${line}`)}\n${indent.repeat(depth)}${brackets[1]}`
}

function jsonText(text: string, { ensureAscii }: JsonStyle): string {
  const json = `"${convertText(text, (plain) => JSON.stringify(plain).slice(1, -1))}"`
  if (!ensureAscii) return json
  return convertText(json, (plain) =>
    plain.replace(/[\x7f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )
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
  return Array.from({ [Symbol.iterator]: () => items }, toRepr).join(', ')
}

function unserializable(name: string): Error {
  return runtimeError(`Object of type ${name} is not JSON serializable`)
}
