import type { CompareOperator } from '../syntax/syntax.ts'
import { spend, spendScan, spendSearch } from '../values/budget.ts'
import { asNumber, refuseUndefined } from '../values/coerce.ts'
import { plainText } from '../values/foreign-text.ts'
import { isIterable, itemsOf, iterate } from '../values/iterate.ts'
import { runtimeError } from '../values/jinja-error.ts'
import { toRepr } from '../values/print.ts'
import { compareTexts } from '../values/text.ts'
import { type Dict, hashKey, isA, typeName, type Value } from '../values/value.ts'

export function areEqual(a: Value, b: Value): boolean {
  spend(1)
  if (typeof a === 'string' && typeof b === 'string' && a.length === b.length) spendScan(a.length)
  if (a === b) return true
  if (a === null || b === null) return false
  if (typeof a === 'string' || typeof b === 'string') return isSameText(a, b)
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

function isSameText(a: Value, b: Value): boolean {
  if (typeof a !== 'string' || typeof b !== 'string' || a.length !== b.length) return false
  return plainText(a) === plainText(b)
}

function sameItems(a: readonly Value[], b: readonly Value[]): boolean {
  return a.length === b.length && a.every((item, index) => areEqual(item, b[index] ?? null))
}

function sameEntries(a: Dict, b: Dict): boolean {
  if (a.entries.size !== b.entries.size) return false
  for (const [hash, { value }] of a.entries) {
    const other = b.entries.get(hash)
    if (other === undefined || !areEqual(value, other.value)) return false
  }
  return true
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

/** Negative when `a` comes first, NaN when neither does. Throws for values without an order. */
export function orderOf(a: Value, b: Value, operator = '<'): number {
  spend(1)
  if (typeof a === 'string' && typeof b === 'string') return compareTexts(a, b)
  const [first, second] = [asNumber(a), asNumber(b)]
  if (first !== undefined && second !== undefined) return first.number - second.number
  const [left, right] = [itemsOf(a), itemsOf(b)]
  if (left !== undefined && right !== undefined && Array.isArray(a) === Array.isArray(b)) {
    for (const [index, item] of left.entries()) {
      if (index >= right.length) break
      const other = right[index] ?? null
      if (!areEqual(item, other)) return orderOf(item, other, operator)
    }
    return left.length - right.length
  }
  refuseUndefined(a, b)
  throw runtimeError(`'${operator}' not supported between instances of '${typeName(a)}' and '${typeName(b)}'`)
}

function contains(container: Value, item: Value): boolean {
  if (typeof container === 'string') {
    if (typeof item === 'string') {
      spendSearch(container.length, item.length)
      return plainText(container).includes(plainText(item))
    }
    throw runtimeError(`'in <string>' requires string as left operand, not ${typeName(item)}`)
  }
  if (isA(container, 'dict')) return container.entries.has(hashKey(item))
  if (!isIterable(container)) throw runtimeError(`argument of type '${typeName(container)}' is not iterable`)
  for (const other of iterate(container)) if (areEqual(other, item)) return true
  return false
}
