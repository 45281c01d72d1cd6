import type { Environment } from './filters/environment.ts'
import { markupFilters, markupKeepingFilters } from './filters/filters.ts'
import { calculate, negate } from './operations/arithmetic.ts'
import { getAttribute, getItem, getSlice } from './operations/attributes.ts'
import { compare } from './operations/compare.ts'
import type { Scope } from './scope.ts'
import type { Arguments, Expression } from './syntax/syntax.ts'
import type { CallArguments } from './values/arguments.ts'
import { spend, spendItems } from './values/budget.ts'
import { isTrue, refuseUndefined } from './values/coerce.ts'
import { plainText } from './values/foreign-text.ts'
import { collect } from './values/iterate.ts'
import { runtimeError } from './values/jinja-error.ts'
import { joinTexts, toText } from './values/print.ts'
import { callable, dict, isA, noNames, orElse, plain, typeName, undefinedValue, type Value } from './values/value.ts'

/** The value of an expression, with `Markup` reduced to its text. */
function evaluatePlain(expression: Expression, scope: Scope, environment: Environment): Value {
  return plain(evaluate(expression, scope, environment))
}

/** Steps of a call itself, for gathering and binding its arguments. */
const callSteps = 12

/** The value of an expression. Throws a `JinjaError` where Python would raise. */
export function evaluate(expression: Expression, scope: Scope, environment: Environment): Value {
  spend(1)
  switch (expression.type) {
    case 'constant':
      return expression.value
    case 'name':
      return orElse(scope.find(expression.name), () => undefinedValue(`'${expression.name}' is undefined`))
    case 'tuple':
      spendItems(expression.items.length)
      return { type: 'tuple', items: expression.items.map((item) => evaluate(item, scope, environment)) }
    case 'list':
      spendItems(expression.items.length)
      return expression.items.map((item) => evaluate(item, scope, environment))
    case 'dict':
      return dict(
        expression.pairs.map(([key, value]) => [evaluate(key, scope, environment), evaluate(value, scope, environment)] as const),
      )
    case 'attribute':
      return getAttribute(evaluatePlain(expression.of, scope, environment), expression.name, environment.rules)
    case 'item':
      return getItem(
        evaluatePlain(expression.of, scope, environment),
        evaluatePlain(expression.key, scope, environment),
        environment.rules,
      )
    case 'slice': {
      const { start, stop, step } = expression
      const of = evaluatePlain(expression.of, scope, environment)
      const bound = (part: Expression | undefined) => (part === undefined ? undefined : evaluate(part, scope, environment))
      return getSlice(of, { start: bound(start), stop: bound(stop), step: bound(step) })
    }
    case 'call': {
      spend(callSteps)
      const callee = evaluate(expression.callee, scope, environment)
      return callValue(callee, evaluateArguments(expression.args, scope, environment))
    }
    case 'filter': {
      spend(callSteps)
      const input = evaluate(expression.input, scope, environment)
      return applyFilter(expression.name, input, { call: evaluateArguments(expression.args, scope, environment), environment })
    }
    case 'test': {
      const given = evaluate(expression.input, scope, environment)
      // The one test that tells `Markup` from text.
      const input = expression.name === 'escaped' ? given : plain(given)
      const test = environment.test(expression.name)
      return test(input, evaluateArguments(expression.args, scope, environment), environment)
    }
    case 'unary': {
      const operand = evaluatePlain(expression.operand, scope, environment)
      return expression.operator === 'not' ? !isTrue(operand) : negate(expression.operator, operand)
    }
    case 'binary': {
      const left = evaluate(expression.left, scope, environment)
      return calculate(expression.operator, left, evaluate(expression.right, scope, environment))
    }
    case 'and': {
      const left = evaluate(expression.left, scope, environment)
      return isTrue(left) ? evaluate(expression.right, scope, environment) : left
    }
    case 'or': {
      const left = evaluate(expression.left, scope, environment)
      return isTrue(left) ? left : evaluate(expression.right, scope, environment)
    }
    case 'concat':
      return joinTexts(expression.items.map((item) => toText(evaluate(item, scope, environment))))
    case 'compare': {
      let left = evaluatePlain(expression.left, scope, environment)
      for (const { operator, right } of expression.rest) {
        const value = evaluatePlain(right, scope, environment)
        if (!compare(operator, left, value)) return false
        left = value
      }
      return true
    }
    case 'conditional': {
      if (isTrue(evaluate(expression.test, scope, environment))) return evaluate(expression.value, scope, environment)
      if (expression.otherwise !== undefined) return evaluate(expression.otherwise, scope, environment)
      return undefinedValue('the inline if-expression evaluated to false and no else section was defined.')
    }
  }
}

function applyFilter(
  name: string,
  input: Value,
  { call, environment }: { call: CallArguments; environment: Environment },
): Value {
  const filter = environment.filter(name)
  if (!isA(input, 'markup') || markupFilters.has(name)) return filter(input, call, environment)
  const result = filter(input.text, call, environment)
  return typeof result === 'string' && markupKeepingFilters.has(name) ? { type: 'markup', text: result } : result
}

/** Calls a function, macro or object. Throws for a value that is not callable. */
export function callValue(callee: Value, { positional, named }: CallArguments): Value {
  if (isA(callee, 'callable')) return callee.call(positional, named)
  if (isA(callee, 'native') && callee.call !== undefined) return callee.call(positional, named)
  refuseUndefined(callee)
  throw runtimeError(`'${typeName(callee)}' object is not callable`)
}

export function evaluateArguments(args: Arguments, scope: Scope, environment: Environment): CallArguments {
  const positional = args.positional.map((argument) => evaluatePlain(argument, scope, environment))
  if (args.named.length === 0 && args.spread === undefined && args.spreadNamed === undefined)
    return { positional, named: noNames }
  const named = new Map<string, Value>()
  for (const [name, value] of args.named) named.set(name, evaluatePlain(value, scope, environment))
  if (args.spread !== undefined) for (const item of collect(evaluate(args.spread, scope, environment))) positional.push(item)
  if (args.spreadNamed !== undefined) {
    const more = evaluate(args.spreadNamed, scope, environment)
    if (!isA(more, 'dict')) throw runtimeError(`argument after ** must be a mapping, not ${typeName(more)}`)
    for (const { key, value } of more.entries.values()) named.set(plainText(toText(key)), value)
  }
  return { positional, named }
}

export function macroValue(name: string, call: (given: CallArguments) => Value): Value {
  return callable(name, (positional, named) => call({ positional, named }))
}
