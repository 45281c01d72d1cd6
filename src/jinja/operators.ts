import { formatPercent } from './format-percent.ts'
import { JinjaError, runtimeError, undefinedError } from './jinja-error.ts'
import { toRepr, toText } from './print.ts'
import type { BinaryOperator, CompareOperator } from './syntax.ts'
import { characters, compareTexts } from './text.ts'
import { type Dict, float, hashKey, isA, plain, tuple, typeName, type Value } from './value.ts'

/** More than this no text or list of a template may hold: a multiplication is a cheap way to ask for the whole memory. */
export const maxLength = 1 << 26

/** Whether `if` takes the value for true. */
export function isTrue(value: Value): boolean {
  if (value === null) return false
  if (Array.isArray(value)) return value.length > 0
  if (typeof value === 'boolean') return value
  if (typeof value === 'number') return value !== 0
  if (typeof value === 'string') return value !== ''
  switch (value.type) {
    case 'undefined':
      return false
    case 'markup':
      return value.text !== ''
    case 'float':
      return value.value !== 0
    case 'tuple':
      return value.items.length > 0
    case 'dict':
      return value.entries.size > 0
    case 'range':
      return value.length > 0
    case 'stream':
      return value.length !== 0
    case 'callable':
    case 'native':
      return true
  }
}

/** The number a value is, and whether it is a `float`; undefined for what is no number. `true` is 1. */
export function asNumber(value: Value): { readonly number: number; readonly isFloat: boolean } | undefined {
  if (typeof value === 'boolean') return { number: Number(value), isFloat: false }
  if (typeof value === 'number') return { number: value, isFloat: !Number.isInteger(value) }
  return isA(value, 'float') ? { number: value.value, isFloat: true } : undefined
}

/** An `int` argument, such as a width; throws for anything else. */
export function asInteger(value: Value): number {
  const number = asNumber(value)
  if (number === undefined || number.isFloat)
    throw runtimeError(`'${typeName(value)}' object cannot be interpreted as an integer`)
  return number.number
}

export function areEqual(a: Value, b: Value): boolean {
  if (a === b) return true
  if (a === null || b === null || typeof a === 'string' || typeof b === 'string') return false
  const [first, second] = [asNumber(a), asNumber(b)]
  if (first !== undefined || second !== undefined) return first?.number === second?.number
  if (Array.isArray(a) || Array.isArray(b)) return Array.isArray(a) && Array.isArray(b) && sameItems(a, b)
  if (typeof a !== 'object' || typeof b !== 'object') return false
  if (a.type === 'undefined') return b.type === 'undefined'
  if (a.type === 'tuple') return b.type === 'tuple' && sameItems(a.items, b.items)
  if (a.type === 'dict') return b.type === 'dict' && sameEntries(a, b)
  if (a.type === 'range') return b.type === 'range' && toRepr(a) === toRepr(b)
  return false
}

function sameItems(a: readonly Value[], b: readonly Value[]): boolean {
  return a.length === b.length && a.every((item, index) => areEqual(item, b[index] ?? null))
}

function sameEntries(a: Dict, b: Dict): boolean {
  if (a.entries.size !== b.entries.size) return false
  return [...a.entries].every(([hash, { value }]) => {
    const other = b.entries.get(hash)
    return other !== undefined && areEqual(value, other.value)
  })
}

export function compare(operator: CompareOperator, a: Value, b: Value): boolean {
  switch (operator) {
    case '==':
      return areEqual(a, b)
    case '!=':
      return !areEqual(a, b)
    case 'in':
      return contains(b, a)
    case 'not in':
      return !contains(b, a)
    case '<':
      return orderOf(a, b, '<') < 0
    case '<=':
      return orderOf(a, b, '<=') <= 0
    case '>':
      return orderOf(a, b, '>') > 0
    case '>=':
      return orderOf(a, b, '>=') >= 0
  }
}

/** Below zero when `a` comes first; not a number when neither does. Throws for values that have no order. */
export function orderOf(a: Value, b: Value, operator = '<'): number {
  if (typeof a === 'string' && typeof b === 'string') return compareTexts(a, b)
  const [first, second] = [asNumber(a), asNumber(b)]
  if (first !== undefined && second !== undefined) return first.number - second.number
  const [left, right] = [itemsOf(a), itemsOf(b)]
  if (left !== undefined && right !== undefined && Array.isArray(a) === Array.isArray(b)) {
    for (const [index, item] of left.slice(0, right.length).entries()) {
      const other = right[index] ?? null
      if (!areEqual(item, other)) return orderOf(item, other, operator)
    }
    return left.length - right.length
  }
  refuseUndefined(a, b)
  throw runtimeError(`'${operator}' not supported between instances of '${typeName(a)}' and '${typeName(b)}'`)
}

/** The items of a list or tuple. */
export function itemsOf(value: Value): readonly Value[] | undefined {
  if (Array.isArray(value)) return value
  return isA(value, 'tuple') ? value.items : undefined
}

function contains(container: Value, item: Value): boolean {
  if (typeof container === 'string') {
    if (typeof item === 'string') return container.includes(item)
    throw runtimeError(`'in <string>' requires string as left operand, not ${typeName(item)}`)
  }
  if (isA(container, 'dict')) return container.entries.has(hashKey(item))
  if (!isIterable(container)) throw runtimeError(`argument of type '${typeName(container)}' is not iterable`)
  for (const other of iterate(container)) if (areEqual(other, item)) return true
  return false
}

export function isIterable(value: Value): boolean {
  if (typeof value === 'string' || Array.isArray(value)) return true
  if (value === null || typeof value !== 'object') return false
  switch (value.type) {
    case 'undefined':
    case 'tuple':
    case 'dict':
    case 'range':
    case 'stream':
      return true
    case 'float':
    case 'markup':
    case 'callable':
    case 'native':
      return false
  }
}

/** What `for` goes through: characters, items, or the keys of a dictionary. Throws for what cannot be gone through. */
export function iterate(value: Value): Iterable<Value> {
  if (typeof value === 'string') return characters(value)
  if (Array.isArray(value)) return value
  if (value !== null && typeof value === 'object') {
    switch (value.type) {
      case 'undefined':
        return []
      case 'tuple':
        return value.items
      case 'dict':
        return keysOf(value)
      case 'range':
        return numbersOf(value)
      case 'stream': {
        const iterator = value.read()
        return { [Symbol.iterator]: () => ({ next: () => iterator.next() }) }
      }
      case 'float':
      case 'markup':
      case 'callable':
      case 'native':
        break
    }
  }
  throw runtimeError(`'${typeName(value)}' object is not iterable`)
}

function* keysOf({ entries }: Dict): Generator<Value> {
  for (const { key } of entries.values()) yield key
}

function* numbersOf({ start, step, length }: { start: number; step: number; length: number }): Generator<Value> {
  for (let index = 0; index < length; index += 1) yield start + index * step
}

/** Python's `len`; undefined for what has none. */
export function lengthOf(value: Value): number | undefined {
  if (typeof value === 'string') return characters(value).length
  if (Array.isArray(value)) return value.length
  if (value === null || typeof value !== 'object') return undefined
  switch (value.type) {
    case 'undefined':
      return 0
    case 'tuple':
      return value.items.length
    case 'dict':
      return value.entries.size
    case 'range':
    case 'stream':
      return value.length
    case 'float':
    case 'markup':
    case 'callable':
    case 'native':
      return undefined
  }
}

export function negate(operator: '-' | '+', value: Value): Value {
  const number = asNumber(value)
  if (number === undefined) {
    refuseUndefined(value)
    throw runtimeError(`bad operand type for unary ${operator}: '${typeName(value)}'`)
  }
  const result = operator === '-' ? -number.number : number.number
  return number.isFloat ? float(result) : result + 0
}

export function calculate(operator: BinaryOperator, a: Value, b: Value): Value {
  if (isA(a, 'markup') || isA(b, 'markup')) return calculateMarkup(operator, a, b)
  const [first, second] = [asNumber(a), asNumber(b)]
  if (first !== undefined && second !== undefined) {
    const isFloat = first.isFloat || second.isFloat || operator === '/' || (operator === '**' && second.number < 0)
    const result = arithmetic(operator, first.number, second.number)
    return isFloat ? float(result) : result
  }
  if (operator === '%' && typeof a === 'string') return formatPercent(a, b)
  refuseUndefined(a, b)
  const joined = operator === '+' ? add(a, b) : operator === '*' ? repeat(a, b) : undefined
  if (joined !== undefined) return joined
  throw runtimeError(`unsupported operand type(s) for ${operator}: '${typeName(a)}' and '${typeName(b)}'`)
}

function calculateMarkup(operator: BinaryOperator, a: Value, b: Value): Value {
  const isText = (value: Value) => typeof value === 'string' || isA(value, 'markup')
  if (operator !== '+' || !isText(a) || !isText(b)) return calculate(operator, plain(a), plain(b))
  return { type: 'markup', text: escapeHtml(a) + escapeHtml(b) }
}

/** The text with its HTML escaped, unless it is marked as HTML already. */
export function escapeHtml(value: Value): string {
  if (isA(value, 'markup')) return value.text
  return toText(value)
    .replaceAll('&', '&amp;')
    .replaceAll('>', '&gt;')
    .replaceAll('<', '&lt;')
    .replaceAll("'", '&#39;')
    .replaceAll('"', '&#34;')
}

function arithmetic(operator: BinaryOperator, a: number, b: number): number {
  if (b === 0 && (operator === '/' || operator === '//' || operator === '%')) throw runtimeError('division by zero')
  switch (operator) {
    case '+':
      return a + b
    case '-':
      return a - b
    case '*':
      return a * b
    case '/':
      return a / b
    case '//':
      return Math.floor(a / b)
    case '%': {
      // The result has the sign of the divisor.
      const rest = a % b
      return rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest
    }
    case '**':
      return a ** b
  }
}

function add(a: Value, b: Value): Value | undefined {
  if (typeof a === 'string') {
    if (typeof b === 'string') return a + b
    throw runtimeError(`can only concatenate str (not "${typeName(b)}") to str`)
  }
  if (Array.isArray(a)) {
    if (Array.isArray(b)) return [...a, ...b]
    throw runtimeError(`can only concatenate list (not "${typeName(b)}") to list`)
  }
  return isA(a, 'tuple') && isA(b, 'tuple') ? tuple(...a.items, ...b.items) : undefined
}

function repeat(a: Value, b: Value): Value | undefined {
  const times = asNumber(a) ?? asNumber(b)
  const value = asNumber(a) === undefined ? a : b
  if (times === undefined || times.isFloat) return undefined
  const count = Math.max(0, times.number)
  if (typeof value === 'string') {
    checkLength(value.length * count)
    return value.repeat(count)
  }
  const items = itemsOf(value)
  if (items === undefined) return undefined
  checkLength(items.length * count)
  const repeated = Array.from({ length: count }, () => items).flat()
  return Array.isArray(value) ? repeated : tuple(...repeated)
}

/** Throws when something that is about to be made would be too long. */
export function checkLength(length: number): void {
  if (length > maxLength)
    throw new JinjaError(
      'budget',
      `the template makes a value of ${length} characters or items; at most ${maxLength} are allowed`,
    )
}

/** Throws the message of the first undefined value among those given. */
export function refuseUndefined(...values: readonly Value[]): void {
  for (const value of values) if (isA(value, 'undefined')) throw undefinedError(value.message)
}
