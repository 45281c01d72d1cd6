import { makeDict } from '../operations/container-methods.ts'
import { strftime } from '../texts/strftime.ts'
import { bindArguments } from '../values/arguments.ts'
import { spend } from '../values/budget.ts'
import { asInteger } from '../values/coerce.ts'
import { derivedFrom, plainText } from '../values/foreign-text.ts'
import { JinjaError, runtimeError } from '../values/jinja-error.ts'
import { toRepr, toText } from '../values/print.ts'
import { callable, type Native, type Value } from '../values/value.ts'

/** The sandbox of jinja2 refuses longer ranges. */
const maxRange = 100_000

/** The global functions of jinja2, and those that `transformers` adds. */
export function createGlobals(now: () => Date): ReadonlyMap<string, Value> {
  return new Map<string, Value>([
    ['range', callable('range', (positional) => makeRange(positional))],
    ['dict', callable('dict', (positional, named) => makeDict({ positional, named }))],
    ['namespace', callable('namespace', (positional, named) => makeNamespace(positional, named))],
    ['joiner', callable('joiner', (positional, named) => makeJoiner(positional, named))],
    ['cycler', callable('cycler', (positional) => makeCycler(positional))],
    [
      'raise_exception',
      callable('raise_exception', (positional, named) => {
        const [message = ''] = bindArguments(
          { positional, named },
          { name: 'raise_exception', parameters: ['message'], required: 1 },
        )
        throw new JinjaError('raised', toText(message))
      }),
    ],
    [
      'strftime_now',
      callable('strftime_now', (positional, named) => {
        spend(40)
        const [format = ''] = bindArguments({ positional, named }, { name: 'strftime_now', parameters: ['format'], required: 1 })
        const text = toText(format)
        return derivedFrom([text], strftime(now(), plainText(text)))
      }),
    ],
  ])
}

function makeRange(positional: readonly Value[]): Value {
  const [first, second, third] = positional.map(asInteger)
  if (first === undefined || positional.length > 3)
    throw runtimeError(`range expected 1 to 3 arguments, got ${positional.length}`)
  const [start, stop, step] = second === undefined ? [0, first, 1] : [first, second, third ?? 1]
  if (step === 0) throw runtimeError('range() arg 3 must not be zero')
  const length = Math.max(0, Math.ceil((stop - start) / step))
  if (length > maxRange) throw runtimeError(`Range too big. The sandbox blocks ranges larger than MAX_RANGE (${maxRange}).`)
  return { type: 'range', start, step, length }
}

/** The only object whose attributes a template can set. */
function makeNamespace(positional: readonly Value[], named: ReadonlyMap<string, Value>): Native {
  const initial = makeDict({ positional, named })
  const attributes = new Map<string, Value>()
  for (const { key, value } of initial.entries.values()) attributes.set(plainText(toText(key)), value)
  return {
    type: 'native',
    typeName: 'Namespace',
    attribute: (name) => attributes.get(name),
    assign: (name, value) => {
      attributes.set(name, value)
    },
    text: () => `<Namespace {${Array.from(attributes, ([name, value]) => `${toRepr(name)}: ${toRepr(value)}`).join(', ')}}>`,
  }
}

/** Empty at its first call, and the separator at every later one. */
function makeJoiner(positional: readonly Value[], named: ReadonlyMap<string, Value>): Native {
  const [separator = ', '] = bindArguments({ positional, named }, { name: 'joiner', parameters: ['sep'] })
  let used = false
  const call = () => {
    const result = used ? separator : ''
    used = true
    return result
  }
  return { type: 'native', typeName: 'Joiner', attribute: () => undefined, call, text: () => '<Joiner>' }
}

function makeCycler(items: readonly Value[]): Native {
  if (items.length === 0) throw runtimeError('at least one item has to be provided')
  let position = 0
  const current = (): Value => items[position] ?? null
  const next = callable('next', () => {
    const result = current()
    position = (position + 1) % items.length
    return result
  })
  const reset = callable('reset', () => {
    position = 0
    return null
  })
  const attribute = (name: string) =>
    name === 'next' ? next : name === 'reset' ? reset : name === 'current' ? current() : undefined
  return { type: 'native', typeName: 'Cycler', attribute, text: () => '<Cycler>' }
}
