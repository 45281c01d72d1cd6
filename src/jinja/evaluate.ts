import type { Call } from './arguments.ts'
import { calculate, negate } from './arithmetic.ts'
import { getAttribute, getItem, getSlice } from './attributes.ts'
import type { Budget } from './budget.ts'
import { isTrue, refuseUndefined } from './coerce.ts'
import { compare } from './compare.ts'
import type { Environment } from './environment.ts'
import { markupFilters, markupKeepingFilters } from './filters.ts'
import { plainText } from './foreign-text.ts'
import { iterate } from './iterate.ts'
import { runtimeError } from './jinja-error.ts'
import { toText } from './print.ts'
import type { Scope } from './scope.ts'
import type { Arguments, Expression } from './syntax.ts'
import { callable, dict, isA, noNames, orElse, plain, typeName, undefinedValue, type Value } from './value.ts'

/** The context of one render. */
export type Run = {
  readonly environment: Environment
  readonly budget: Budget
}

/** The value of an expression, with `Markup` reduced to its text. */
function evaluatePlain(expression: Expression, scope: Scope, run: Run): Value {
  return plain(evaluate(expression, scope, run))
}

/** The value of an expression. Throws a `JinjaError` where Python would raise. */
export function evaluate(expression: Expression, scope: Scope, run: Run): Value {
  run.budget.spend(1)
  switch (expression.type) {
    case 'constant':
      return expression.value
    case 'name':
      return orElse(scope.find(expression.name), () => undefinedValue(`'${expression.name}' is undefined`))
    case 'tuple':
      return { type: 'tuple', items: expression.items.map((item) => evaluate(item, scope, run)) }
    case 'list':
      return expression.items.map((item) => evaluate(item, scope, run))
    case 'dict':
      return dict(expression.pairs.map(([key, value]) => [evaluate(key, scope, run), evaluate(value, scope, run)] as const))
    case 'attribute':
      return getAttribute(evaluatePlain(expression.of, scope, run), expression.name, run.environment.rules)
    case 'item':
      return getItem(evaluatePlain(expression.of, scope, run), evaluatePlain(expression.key, scope, run), run.environment.rules)
    case 'slice': {
      const { start, stop, step } = expression
      const of = evaluatePlain(expression.of, scope, run)
      const bound = (part: Expression | undefined) => (part === undefined ? undefined : evaluate(part, scope, run))
      return charged(getSlice(of, { start: bound(start), stop: bound(stop), step: bound(step) }), run)
    }
    case 'call': {
      const callee = evaluate(expression.callee, scope, run)
      return charged(callValue(callee, evaluateArguments(expression.args, scope, run)), run)
    }
    case 'filter': {
      const input = evaluate(expression.input, scope, run)
      return charged(applyFilter(expression.name, input, { call: evaluateArguments(expression.args, scope, run), run }), run)
    }
    case 'test': {
      const given = evaluate(expression.input, scope, run)
      // The one test that tells `Markup` from text.
      const input = expression.name === 'escaped' ? given : plain(given)
      const test = run.environment.test(expression.name)
      return test(input, evaluateArguments(expression.args, scope, run), run.environment)
    }
    case 'unary': {
      const operand = evaluatePlain(expression.operand, scope, run)
      return expression.operator === 'not' ? !isTrue(operand) : negate(expression.operator, operand)
    }
    case 'binary': {
      const left = evaluate(expression.left, scope, run)
      return charged(calculate(expression.operator, left, evaluate(expression.right, scope, run)), run)
    }
    case 'and': {
      const left = evaluate(expression.left, scope, run)
      return isTrue(left) ? evaluate(expression.right, scope, run) : left
    }
    case 'or': {
      const left = evaluate(expression.left, scope, run)
      return isTrue(left) ? left : evaluate(expression.right, scope, run)
    }
    case 'concat':
      return charged(expression.items.map((item) => toText(evaluate(item, scope, run))).join(''), run)
    case 'compare': {
      let left = evaluatePlain(expression.left, scope, run)
      for (const { operator, right } of expression.rest) {
        const value = evaluatePlain(right, scope, run)
        if (!compare(operator, left, value)) return false
        left = value
      }
      return true
    }
    case 'conditional': {
      if (isTrue(evaluate(expression.test, scope, run))) return evaluate(expression.value, scope, run)
      if (expression.otherwise !== undefined) return evaluate(expression.otherwise, scope, run)
      return undefinedValue('the inline if-expression evaluated to false and no else section was defined.')
    }
  }
}

function applyFilter(name: string, input: Value, { call, run }: { call: Call; run: Run }): Value {
  const { environment } = run
  const filter = environment.filter(name)
  if (!isA(input, 'markup') || markupFilters.has(name)) return filter(input, call, environment)
  const result = filter(input.text, call, environment)
  return typeof result === 'string' && markupKeepingFilters.has(name) ? { type: 'markup', text: result } : result
}

/** Calls a function, macro or object. Throws for a value that is not callable. */
export function callValue(callee: Value, { positional, named }: Call): Value {
  if (isA(callee, 'callable')) return callee.call(positional, named)
  if (isA(callee, 'native') && callee.call !== undefined) return callee.call(positional, named)
  refuseUndefined(callee)
  throw runtimeError(`'${typeName(callee)}' object is not callable`)
}

export function evaluateArguments(args: Arguments, scope: Scope, run: Run): Call {
  const positional = args.positional.map((argument) => evaluatePlain(argument, scope, run))
  if (args.named.length === 0 && args.spread === undefined && args.spreadNamed === undefined)
    return { positional, named: noNames }
  const named = new Map<string, Value>()
  for (const [name, value] of args.named) named.set(name, evaluatePlain(value, scope, run))
  if (args.spread !== undefined) positional.push(...iterate(evaluate(args.spread, scope, run)))
  if (args.spreadNamed !== undefined) {
    const more = evaluate(args.spreadNamed, scope, run)
    if (!isA(more, 'dict')) throw runtimeError(`argument after ** must be a mapping, not ${typeName(more)}`)
    for (const { key, value } of more.entries.values()) named.set(plainText(toText(key)), value)
  }
  return { positional, named }
}

/** Counts the size of a value that was built. */
function charged(value: Value, { budget }: Run): Value {
  if (typeof value === 'string') budget.spendText(value.length)
  if (Array.isArray(value)) budget.spend(value.length)
  return value
}

/** A macro as a value. */
export function macroValue(name: string, call: (given: Call) => Value): Value {
  return callable(name, (positional, named) => call({ positional, named }))
}
