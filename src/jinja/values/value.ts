import { spendItems, spendText } from './budget.ts'
import { plainText } from './foreign-text.ts'
import { runtimeError } from './jinja-error.ts'

/**
 * Python's values, which a template computes with. A whole number is an `int`, any other a `float`; a whole `float` is a
 * `Float`. Objects of the caller are never among them, so templates cannot reach properties of JavaScript.
 */
export type Value =
  | null
  | boolean
  | number
  | string
  | Value[]
  | Markup
  | Float
  | Int
  | Undefined
  | Tuple
  | Dict
  | Range
  | Stream
  | Callable
  | Native

/** Text that `safe` or `escape` declared to be HTML: text added to it with `+` is escaped. Otherwise it acts as its text. */
export type Markup = { readonly type: 'markup'; readonly text: string }
/** `written` is how a caller wrote it, where that differs from how Python prints it. */
type Float = { readonly type: 'float'; readonly value: number; readonly written?: string }
/** An `int` that a caller wrote with more digits than a number holds. */
type Int = { readonly type: 'int'; readonly value: number; readonly written: string }
/** The value of a missing name or key. It prints as nothing; most other uses fail with `message`. */
export type Undefined = { readonly type: 'undefined'; readonly message: string }
type Tuple = { readonly type: 'tuple'; readonly items: readonly Value[] }
/** Entries in order of insertion, by `hashKey` of the key. */
export type Dict = { readonly type: 'dict'; readonly entries: Map<HashKey, DictEntry> }
export type DictEntry = { readonly key: Value; readonly value: Value }
export type Range = { readonly type: 'range'; readonly start: number; readonly step: number; readonly length: number }
/** A Python iterator or view. A generator can be read once; a view knows its length and can be read again. */
export type Stream = {
  readonly type: 'stream'
  readonly typeName: string
  readonly length?: number
  readonly read: () => Iterator<Value>
}
type Callable = {
  readonly type: 'callable'
  readonly name: string
  readonly call: (positional: readonly Value[], named: NamedArguments) => Value
}
/** An object of the interpreter: a namespace, a loop, a cycler. */
export type Native = {
  readonly type: 'native'
  readonly typeName: string
  readonly attribute: (name: string) => Value | undefined
  /** Handles `{% set object.name = value %}`. Absent: attributes cannot be set. */
  readonly assign?: (name: string, value: Value) => void
  readonly call?: Callable['call']
  readonly text: () => string
}

export type NamedArguments = ReadonlyMap<string, Value>
type HashKey = string | number | null | object

export const noNames: NamedArguments = new Map()

export function undefinedValue(message: string): Undefined {
  return { type: 'undefined', message }
}

/** `found`, or a fallback. Not `??`, because `null` is Python's `None` and counts as found. */
export function orElse(found: Value | undefined, otherwise: () => Value): Value {
  return found === undefined ? otherwise() : found
}

type Tagged = Extract<Value, { type: string }>

/** Whether a value is one of the tagged kinds. */
export function isA<T extends Tagged['type']>(value: Value, type: T): value is Extract<Tagged, { type: T }> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && value.type === type
}

export function tuple(...items: Value[]): Tuple {
  return { type: 'tuple', items }
}

/** `Markup` as its text; other values unchanged. */
export function plain(value: Value): Value {
  return isA(value, 'markup') ? value.text : value
}

/** A number that stays a `float` even when it is whole. */
export function float(value: number): Value {
  return Number.isInteger(value) ? { type: 'float', value } : value
}

export function callable(name: string, call: Callable['call']): Callable {
  return { type: 'callable', name, call }
}

/** A Python generator: all its readers share one iterator. */
export function generator(values: Iterable<Value>, typeName = 'generator'): Stream {
  const iterator = values[Symbol.iterator]()
  return { type: 'stream', typeName, read: () => iterator }
}

/** Keys that are equal in Python have the same hash: 1, 1.0 and true. Throws for an unhashable value. */
export function hashKey(key: Value): HashKey {
  if (key === null || typeof key === 'number') return key
  if (typeof key === 'string') return plainText(key)
  if (typeof key === 'boolean') return Number(key)
  if (Array.isArray(key)) throw runtimeError("unhashable type: 'list'")
  switch (key.type) {
    case 'float':
    case 'int':
      return key.value
    case 'tuple':
      return hashTuple(key.items)
    case 'dict':
      throw runtimeError("unhashable type: 'dict'")
    case 'undefined':
      return '\0undefined'
    case 'markup':
      return plainText(key.text)
    case 'range':
    case 'stream':
    case 'callable':
    case 'native':
      return key
  }
}

function hashTuple(items: readonly Value[]): string {
  spendItems(items.length)
  const hashes = items.map(hashKey)
  spendText(hashes.reduce<number>((sum, hash) => sum + 2 * String(hash).length, 0))
  return `\0tuple:${JSON.stringify(hashes.map((hash) => [typeof hash, hash]))}`
}

export function dict(pairs: Iterable<readonly [Value, Value]> = []): Dict {
  const made: Dict = { type: 'dict', entries: new Map() }
  for (const [key, value] of pairs) setKey(made, key, value)
  return made
}

export function setKey({ entries }: Dict, key: Value, value: Value): void {
  spendItems(1)
  const hash = hashKey(key)
  entries.set(hash, { key: entries.get(hash)?.key ?? key, value })
}

/** The name of a value's class in Python, for messages. */
export function typeName(value: Value): string {
  if (value === null) return 'NoneType'
  if (Array.isArray(value)) return 'list'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'string') return 'str'
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float'
  switch (value.type) {
    case 'undefined':
      return 'Undefined'
    case 'markup':
      return 'Markup'
    case 'callable':
      return 'function'
    case 'stream':
    case 'native':
      return value.typeName
    case 'float':
    case 'int':
    case 'tuple':
    case 'dict':
    case 'range':
      return value.type
  }
}
