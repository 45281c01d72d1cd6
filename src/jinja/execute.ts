import { callValue, evaluate, evaluateArguments, macroValue } from './evaluate.ts'
import type { Environment } from './filters/environment.ts'
import { Loop } from './loop.ts'
import { Scope } from './scope.ts'
import { blockText, type Expression, type ForStatement, type MacroSyntax, type Statement, type Target } from './syntax/syntax.ts'
import type { CallArguments } from './values/arguments.ts'
import { nest, spend, spendText } from './values/budget.ts'
import { isTrue } from './values/coerce.ts'
import { collect, iterate } from './values/iterate.ts'
import { runtimeError } from './values/jinja-error.ts'
import { toText } from './values/print.ts'
import { dict, isA, orElse, plain, undefinedValue, type Value } from './values/value.ts'

/** How a body ended: at its end, or with a `break` or `continue` for the loop around it. */
type Ending = 'end' | 'break' | 'continue'

/** The scope that statements run in, and the output that they write to. */
type Frame = {
  readonly scope: Scope
  readonly output: string[]
  readonly environment: Environment
  /** The template's outermost scope: all that a `block` sees. */
  readonly top: Scope
}

/** Runs a template's statements in `scope` and returns their output. */
export function runTemplate(statements: readonly Statement[], scope: Scope, environment: Environment): string {
  const output: string[] = []
  executeAll(statements, { scope, output, environment, top: scope })
  return output.join('')
}

function executeAll(statements: readonly Statement[], frame: Frame): Ending {
  for (const statement of statements) {
    const ending = execute(statement, frame)
    if (ending !== 'end') return ending
  }
  return 'end'
}

function execute(statement: Statement, frame: Frame): Ending {
  const { scope, environment } = frame
  spend(1)
  switch (statement.type) {
    case 'text':
      write(statement.text, frame)
      return 'end'
    case 'output':
      write(toText(evaluate(statement.value, scope, environment)), frame)
      return 'end'
    case 'if': {
      const branch = statement.branches.find(({ test }) => isTrue(evaluate(test, scope, environment)))
      return executeAll(branch?.body ?? statement.otherwise, frame)
    }
    case 'for':
      return executeFor(statement, frame)
    case 'set':
      assign(statement.target, evaluate(statement.value, scope, environment), frame)
      return 'end'
    case 'set-block': {
      const { ending, text } = capture(statement.body, statement.filter, frame)
      if (ending === 'end') assign(statement.target, text, frame)
      return ending
    }
    case 'filter-block': {
      const { ending, text } = capture(statement.body, statement.filter, frame)
      if (ending === 'end') write(toText(text), frame)
      return ending
    }
    case 'macro':
      scope.set(statement.macro.name, makeMacro(statement.macro, frame))
      return 'end'
    case 'call-block': {
      const caller = makeMacro(statement.body, frame)
      const callee = evaluate(statement.call.callee, scope, environment)
      const { positional, named } = evaluateArguments(statement.call.args, scope, environment)
      write(toText(callValue(callee, { positional, named: new Map([...named, ['caller', caller]]) })), frame)
      return 'end'
    }
    case 'with': {
      const inner = { ...frame, scope: new Scope(scope) }
      for (const { target, value } of statement.bindings) assign(target, evaluate(value, scope, environment), inner)
      return executeAll(statement.body, inner)
    }
    case 'scope':
      return executeAll(statement.body, { ...frame, scope: new Scope(statement.isolated ? frame.top : scope) })
    case 'break':
    case 'continue':
      return statement.type
    case 'other-template':
      throw runtimeError(`the tag '${statement.tag}' needs other templates; a chat template is one file`)
  }
}

function write(text: string, { output }: Frame): void {
  spendText(text.length)
  if (text !== '') output.push(text)
}

/** The output of a body after the filters of its tag. */
function capture(body: readonly Statement[], filter: Expression, frame: Frame): { ending: Ending; text: Value } {
  const scope = new Scope(frame.scope)
  const output: string[] = []
  const ending = executeAll(body, { ...frame, scope, output })
  scope.set(blockText, output.join(''))
  return { ending, text: evaluate(filter, scope, frame.environment) }
}

function assign(target: Target, value: Value, frame: Frame): void {
  switch (target.type) {
    case 'name':
      frame.scope.set(target.name, value)
      return
    case 'attribute': {
      const object = frame.scope.find(target.object)
      if (object === undefined || !isA(object, 'native') || object.assign === undefined) {
        throw runtimeError('cannot assign attribute on non-namespace object')
      }
      object.assign(target.name, value)
      return
    }
    case 'tuple': {
      const values = collect(value)
      if (values.length !== target.targets.length) {
        const fault = values.length < target.targets.length ? 'not enough' : 'too many'
        throw runtimeError(`${fault} values to unpack (expected ${target.targets.length}, got ${values.length})`)
      }
      for (const [index, each] of target.targets.entries()) assign(each, values[index] ?? null, frame)
    }
  }
}

function executeFor(statement: ForStatement, frame: Frame): Ending {
  const source = plain(evaluate(statement.iterable, frame.scope, frame.environment))
  const { ending } = runLoop(statement, source, { frame, level: 0 })
  return ending
}

type LoopContext = { readonly frame: Frame; readonly level: number }

function runLoop(statement: ForStatement, source: Value, { frame, level }: LoopContext): { readonly ending: Ending } {
  const { target, filter, recursive, body, otherwise } = statement
  const { scope } = frame
  const recurse = (items: Value): Value => {
    const output: string[] = []
    nest(() => runLoop(statement, items, { frame: { ...frame, output }, level: level + 1 }))
    return output.join('')
  }
  const items = iterate(source)[Symbol.iterator]()
  const loop = new Loop({
    source: filter === undefined ? source : undefined,
    items: filter === undefined ? items : keepOnly(items, { target, filter, frame }),
    depth: level,
    recurse: recursive ? recurse : undefined,
  })
  let count = 0
  for (let item = loop.next(); item !== undefined; item = loop.next()) {
    spend(1)
    count += 1
    const inner = { ...frame, scope: new Scope(scope) }
    inner.scope.set('loop', loop.value)
    assign(target, item, inner)
    if (executeAll(body, inner) === 'break') break
  }
  // `break` and `continue` in the `else` part belong to the loop around this one.
  return { ending: count > 0 ? 'end' : executeAll(otherwise, { ...frame, scope: new Scope(scope) }) }
}

type KeepOptions = { readonly target: Target; readonly filter: Expression; readonly frame: Frame }

function* keepOnly(items: Iterator<Value>, { target, filter, frame }: KeepOptions): Generator<Value, undefined> {
  for (let next = items.next(); next.done !== true; next = items.next()) {
    const inner = { ...frame, scope: new Scope(frame.scope) }
    assign(target, next.value, inner)
    if (isTrue(evaluate(filter, inner.scope, frame.environment))) yield next.value
  }
  return undefined
}

function makeMacro(macro: MacroSyntax, frame: Frame): Value {
  spend(20)
  return macroValue(macro.name, (call) => {
    spend(30 + 10 * macro.parameters.length)
    const output: string[] = []
    const inner = { ...frame, scope: new Scope(frame.scope), output }
    nest(() => {
      bindParameters(macro, call, inner)
      executeAll(macro.body, inner)
    })
    return output.join('')
  })
}

/** Sets a macro's parameters to the arguments of a call. A default may use the parameters before it. */
function bindParameters(
  { name, parameters, mentions }: MacroSyntax,
  { positional, named }: CallArguments,
  { scope, environment }: Frame,
): void {
  const rest = new Map(named)
  for (const [index, parameter] of parameters.entries()) {
    const byName = index < positional.length ? undefined : rest.get(parameter.name)
    if (byName !== undefined) rest.delete(parameter.name)
    const fallback = () =>
      parameter.fallback === undefined
        ? undefinedValue(`parameter '${parameter.name}' was not provided`)
        : evaluate(parameter.fallback, scope, environment)
    scope.set(
      parameter.name,
      orElse(positional[index], () => orElse(byName, fallback)),
    )
  }
  const own = parameters.some((parameter) => parameter.name === 'caller')
  if (mentions.has('caller') && !own) {
    scope.set(
      'caller',
      orElse(rest.get('caller'), () => undefinedValue('No caller defined')),
    )
    rest.delete('caller')
  }
  if (mentions.has('kwargs')) scope.set('kwargs', dict(rest))
  else {
    const [unknown] = rest.keys()
    if (unknown !== undefined) throw runtimeError(`macro '${name}' takes no keyword argument '${unknown}'`)
  }
  const extra = positional.slice(parameters.length)
  if (mentions.has('varargs')) scope.set('varargs', { type: 'tuple', items: extra })
  else if (extra.length > 0) throw runtimeError(`macro '${name}' takes not more than ${parameters.length} argument(s)`)
}
