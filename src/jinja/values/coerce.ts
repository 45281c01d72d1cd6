import { runtimeError, undefinedError } from './jinja-error.ts'
import { isA, typeName, type Value } from './value.ts'

/** Python's `bool(value)`. */
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
    case 'int':
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

/** The number of a value, and whether it is a `float`; undefined for other types. `true` is 1. */
export function asNumber(value: Value): { readonly number: number; readonly isFloat: boolean } | undefined {
  if (typeof value === 'boolean') return { number: Number(value), isFloat: false }
  if (typeof value === 'number') return { number: value, isFloat: !Number.isInteger(value) }
  if (isA(value, 'int')) return { number: value.value, isFloat: false }
  return isA(value, 'float') ? { number: value.value, isFloat: true } : undefined
}

/** An `int` argument, such as a width; throws for anything else. */
export function asInteger(value: Value): number {
  const number = asNumber(value)
  if (number === undefined || number.isFloat)
    throw runtimeError(`'${typeName(value)}' object cannot be interpreted as an integer`)
  return number.number
}

/** Throws for the first undefined value among those given. */
export function refuseUndefined(...values: readonly Value[]): void {
  for (const value of values) if (isA(value, 'undefined')) throw undefinedError(value.message)
}
