import { spend, spendItems, spendRead } from './budget.ts'
import { runtimeError } from './jinja-error.ts'
import { characters } from './text.ts'
import { type Dict, isA, typeName, type Value } from './value.ts'

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
    case 'int':
    case 'markup':
    case 'callable':
    case 'native':
      return false
  }
}

/** The items of a list or tuple. */
export function itemsOf(value: Value): readonly Value[] | undefined {
  if (Array.isArray(value)) return value
  return isA(value, 'tuple') ? value.items : undefined
}

/** Characters, items, or the keys of a dictionary. Throws for a value that is not iterable. */
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
      case 'int':
      case 'markup':
      case 'callable':
      case 'native':
        break
    }
  }
  throw runtimeError(`'${typeName(value)}' object is not iterable`)
}

/** All items, in a list of their own. */
export function collect(value: Value): Value[] {
  const items: Value[] = []
  for (const item of iterate(value)) {
    spendItems(1)
    items.push(item)
  }
  return items
}

/** Pays for reading all items of a value that is already there. */
export function spendItemsOf(value: Value): void {
  if (typeof value === 'string') spendRead(value.length)
  else if (Array.isArray(value)) spend(value.length >> 3)
}

function* keysOf({ entries }: Dict): Generator<Value> {
  for (const { key } of entries.values()) yield key
}

function* numbersOf({ start, step, length }: { start: number; step: number; length: number }): Generator<Value> {
  for (let index = 0; index < length; index += 1) {
    spend(1)
    yield start + index * step
  }
}

/** Python's `len`; undefined for a value without a length. */
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
    case 'int':
    case 'markup':
    case 'callable':
    case 'native':
      return undefined
  }
}
