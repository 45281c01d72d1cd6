import { asForeign } from '../values/foreign-text.ts'
import { runtimeError } from '../values/jinja-error.ts'
import { type Dict, dict, float, setKey, undefinedValue, type Value } from '../values/value.ts'

/** A variable that is JSON text of a caller: its strings are foreign, its keys keep their order, its numbers their digits. */
export class ForeignJson {
  readonly text: string

  /** `text` must be valid JSON. */
  constructor(text: string) {
    this.text = text
  }
}

/** The data with all its strings foreign, keys included. */
export function asForeignData(data: unknown): unknown {
  if (typeof data === 'string') return asForeign(data)
  if (Array.isArray(data)) return data.map(asForeignData)
  if (typeof data !== 'object' || data === null || data instanceof ForeignJson) return data
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [asForeign(key), asForeignData(value)]))
}

/** Converts data of a program. Members that are `undefined` are left out. */
export function fromJson(data: unknown): Value {
  if (data instanceof ForeignJson) return new JsonReader(data.text).read()
  switch (typeof data) {
    case 'string':
    case 'boolean':
    case 'number':
      return data
    case 'bigint':
      return Number(data)
    case 'object':
      if (data === null) return null
      if (Array.isArray(data)) return data.map(fromJson)
      return fromObject(data)
    case 'undefined':
    case 'function':
    case 'symbol':
      return undefinedValue('a value that is not JSON')
  }
}

function fromObject(data: object): Dict {
  const made = dict()
  for (const [key, value] of Object.entries(data)) if (value !== undefined) setKey(made, key, fromJson(value))
  return made
}

const pattern = {
  space: /[ \t\n\r]*/y,
  string: /"[^"\\]*(?:\\.[^"\\]*)*"/y,
  number: /-?\d+(\.\d+)?([eE][-+]?\d+)?/y,
  word: /true|false|null/y,
}
const words: ReadonlyMap<string, Value> = new Map<string, Value>([
  ['true', true],
  ['false', false],
  ['null', null],
])

/** Reads valid JSON; `JSON.parse` would round numbers and move keys that look like integers to the front. */
class JsonReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  read(): Value {
    this.#match('space')
    const value = this.#readValue()
    this.#match('space')
    return value
  }

  #readValue(): Value {
    switch (this.#text[this.#at]) {
      case '{':
        return this.#readObject()
      case '[':
        return this.#readArray()
      case '"':
        return this.#readString()
      default:
        return this.#readScalar()
    }
  }

  #readObject(): Value {
    const made = dict()
    this.#readItems('}', () => {
      const key = this.#readString()
      this.#match('space')
      this.#at += 1
      setKey(made, key, this.read())
    })
    return made
  }

  #readArray(): Value {
    const items: Value[] = []
    this.#readItems(']', () => items.push(this.read()))
    return items
  }

  #readItems(end: string, readItem: () => void): void {
    this.#at += 1
    this.#match('space')
    while (this.#text[this.#at] !== end) {
      readItem()
      this.#match('space')
      if (this.#text[this.#at] === ',') this.#at += 1
      else if (this.#text[this.#at] !== end) throw runtimeError('invalid JSON')
      this.#match('space')
    }
    this.#at += 1
  }

  #readString(): string {
    const json = this.#match('string')
    if (json === undefined) throw runtimeError('invalid JSON')
    return asForeign(JSON.parse(json) as string)
  }

  #readScalar(): Value {
    const number = this.#match('number')
    if (number !== undefined) return readNumber(number)
    const word = this.#match('word')
    if (word === undefined) throw runtimeError('invalid JSON')
    return words.get(word) ?? null
  }

  #match(name: keyof typeof pattern): string | undefined {
    const sticky = pattern[name]
    sticky.lastIndex = this.#at
    const found = sticky.exec(this.#text)?.[0]
    this.#at += found?.length ?? 0
    return found
  }
}

/** A number that prints as it is written. */
function readNumber(written: string): Value {
  const value = Number(written)
  if (/^-?\d+$/.test(written)) return String(value) === written ? value : { type: 'int', value, written }
  return String(value) === written ? float(value) : { type: 'float', value, written }
}
