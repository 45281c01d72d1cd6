import type { BinaryOperator } from '../syntax/syntax.ts'
import { formatPercent } from '../texts/format-percent.ts'
import { spendItems, spendText } from '../values/budget.ts'
import { asNumber, refuseUndefined } from '../values/coerce.ts'
import { convertText } from '../values/foreign-text.ts'
import { itemsOf } from '../values/iterate.ts'
import { runtimeError } from '../values/jinja-error.ts'
import { toText } from '../values/print.ts'
import { float, isA, plain, typeName, type Value } from '../values/value.ts'

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
    return isFloat ? float(result) : result + 0
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
  const parts = [escapeHtml(a), escapeHtml(b)] as const
  spendText(parts[0].length + parts[1].length)
  return { type: 'markup', text: parts[0] + parts[1] }
}

/** The text of a value with HTML escaped, unless it is `Markup`. */
export function escapeHtml(value: Value): string {
  if (isA(value, 'markup')) return value.text
  const given = toText(value)
  spendText(given.length * 5)
  return convertText(given, (text) =>
    text
      .replaceAll('&', '&amp;')
      .replaceAll('>', '&gt;')
      .replaceAll('<', '&lt;')
      .replaceAll("'", '&#39;')
      .replaceAll('"', '&#34;'),
  )
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
    case '//': {
      const quotient = (a - remainder(a, b)) / b
      const floor = Math.floor(quotient)
      return quotient - floor > 0.5 ? floor + 1 : floor
    }
    case '%':
      return remainder(a, b)
    case '**':
      return a ** b
  }
}

/** With the sign of the divisor. */
function remainder(a: number, b: number): number {
  const rest = a % b
  if (rest === 0) return b < 0 ? -0 : 0
  return rest < 0 !== b < 0 ? rest + b : rest
}

function add(a: Value, b: Value): Value | undefined {
  if (typeof a === 'string') {
    if (typeof b === 'string') {
      spendText(a.length + b.length)
      return a + b
    }
    throw runtimeError(`can only concatenate str (not "${typeName(b)}") to str`)
  }
  if (Array.isArray(a)) {
    if (Array.isArray(b)) {
      spendItems(a.length + b.length)
      return [...a, ...b]
    }
    throw runtimeError(`can only concatenate list (not "${typeName(b)}") to list`)
  }
  if (!isA(a, 'tuple') || !isA(b, 'tuple')) return undefined
  spendItems(a.items.length + b.items.length)
  return { type: 'tuple', items: [...a.items, ...b.items] }
}

function repeat(a: Value, b: Value): Value | undefined {
  const times = asNumber(a) ?? asNumber(b)
  const value = asNumber(a) === undefined ? a : b
  if (times === undefined || times.isFloat) return undefined
  const count = Math.max(0, times.number)
  if (typeof value === 'string') {
    spendText(value.length * count)
    return value.repeat(count)
  }
  const items = itemsOf(value)
  if (items === undefined) return undefined
  spendItems(items.length * count)
  const repeated = items.length === 0 ? [] : Array.from({ length: count }, () => items).flat()
  return Array.isArray(value) ? repeated : { type: 'tuple', items: repeated }
}
