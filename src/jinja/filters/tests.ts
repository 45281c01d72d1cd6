import { calculate } from '../operations/arithmetic.ts'
import { areEqual, compare } from '../operations/compare.ts'
import type { CompareOperator } from '../syntax/syntax.ts'
import { asNumber } from '../values/coerce.ts'
import { plainText } from '../values/foreign-text.ts'
import { isIterable } from '../values/iterate.ts'
import { isLower, isUpper } from '../values/letter-case.ts'
import { toText } from '../values/print.ts'
import { isA, type Value } from '../values/value.ts'
import type { Test } from './environment.ts'

/** The tests of jinja2 3.1, which follow `is`. */
export const tests: ReadonlyMap<string, Test> = new Map<string, Test>(
  Object.entries({
    ...comparisons({ eq: '==', equalto: '==', '==': '==', ne: '!=', '!=': '!=', in: 'in' }),
    ...comparisons({ lt: '<', lessthan: '<', '<': '<', le: '<=', '<=': '<=' }),
    ...comparisons({ gt: '>', greaterthan: '>', '>': '>', ge: '>=', '>=': '>=' }),
    boolean: (value) => typeof value === 'boolean',
    // In Python, undefined values have a `__call__`, which raises.
    callable: (value) => isA(value, 'callable') || isA(value, 'undefined') || (isA(value, 'native') && value.call !== undefined),
    defined: (value) => !isA(value, 'undefined'),
    divisibleby: (value, { positional: [by = null] }) => areEqual(calculate('%', value, by), 0),
    escaped: (value) => isA(value, 'markup'),
    even: (value) => areEqual(calculate('%', value, 2), 0),
    false: (value) => value === false,
    filter: (value, _, { filter }) => exists(() => filter(plainText(toText(value)))),
    float: (value) => typeof value !== 'boolean' && asNumber(value)?.isFloat === true,
    integer: (value) => typeof value !== 'boolean' && asNumber(value)?.isFloat === false,
    iterable: isIterable,
    lower: (value) => isLower(plainText(toText(value))),
    mapping: (value) => isA(value, 'dict'),
    none: (value) => value === null,
    number: (value) => asNumber(value) !== undefined,
    odd: (value) => areEqual(calculate('%', value, 2), 1),
    sameas: (value, { positional: [other = null] }) => isSame(value, other),
    sequence: (value) => hasLengthAndItems(value),
    string: (value) => typeof value === 'string',
    test: (value, _, { test }) => exists(() => test(plainText(toText(value)))),
    true: (value) => value === true,
    undefined: (value) => isA(value, 'undefined'),
    upper: (value) => isUpper(plainText(toText(value))),
  } satisfies Record<string, Test>),
)

function comparisons(operators: Readonly<Record<string, CompareOperator>>): Record<string, Test> {
  return Object.fromEntries(
    Object.entries(operators).map(([name, operator]): [string, Test] => [
      name,
      (value, { positional: [other = null] }) => compare(operator, value, other),
    ]),
  )
}

/** Python's `is`. Equal numbers of one type count as the same object, as small ones do in Python. */
function isSame(a: Value, b: Value): boolean {
  if (typeof a === 'string') return areEqual(a, b)
  const [first, second] = [asNumber(a), asNumber(b)]
  if (typeof a === 'boolean' || typeof b === 'boolean' || first === undefined || second === undefined) return a === b
  return first.number === second.number && first.isFloat === second.isFloat
}

function hasLengthAndItems(value: Value): boolean {
  if (typeof value === 'string' || Array.isArray(value) || isA(value, 'undefined')) return true
  return isA(value, 'tuple') || isA(value, 'dict') || isA(value, 'range')
}

function exists(look: () => unknown): boolean {
  try {
    return look() !== undefined
  } catch {
    // The environment throws for an unknown name.
    return false
  }
}
