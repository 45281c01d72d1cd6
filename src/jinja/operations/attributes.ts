import { formatBraces } from '../texts/format-braces.ts'
import { stringMethods } from '../texts/string-methods.ts'
import type { CallArguments } from '../values/arguments.ts'
import { spendItems, spendRead } from '../values/budget.ts'
import { asInteger, asNumber } from '../values/coerce.ts'
import { plainText } from '../values/foreign-text.ts'
import { collect, spendItemsOf } from '../values/iterate.ts'
import { runtimeError, undefinedError } from '../values/jinja-error.ts'
import { toRepr } from '../values/print.ts'
import { characters } from '../values/text.ts'
import { callable, hashKey, isA, orElse, typeName, undefinedValue, type Value } from '../values/value.ts'
import { containerMethod } from './container-methods.ts'

/**
 * The restrictions that apply. `transformers` does not let templates change lists and dictionaries or print a generator as JSON; llama.cpp,
 * for which the templates in GGUF files are written, does.
 */
export type Rules = 'transformers' | 'llama.cpp'

/** `value.name`: an attribute or method first, then an item, then undefined. */
export function getAttribute(value: Value, name: string, rules: Rules): Value {
  return orElse(ownAttribute(value, name, rules), () => orElse(itemAt(value, name), () => missing(value, name)))
}

/** `value[key]`: an item first, then, for a string key, an attribute or method, then undefined. */
export function getItem(value: Value, key: Value, rules: Rules): Value {
  const own = () => (typeof key === 'string' ? ownAttribute(value, key, rules) : undefined)
  return orElse(itemAt(value, key), () => orElse(own(), () => missing(value, key)))
}

/** `value.name` without the fallback to items. */
export function ownAttribute(value: Value, given: string, rules: Rules): Value | undefined {
  const name = plainText(given)
  if (/^__.*__$/.test(name)) return unsafe(value, name)
  if (typeof value === 'string') return stringAttribute(value, name, rules)
  if (value === null || typeof value === 'boolean') return undefined
  if (typeof value === 'number') return numberAttribute(value, name)
  if (Array.isArray(value)) return containerAttribute(value, name, rules)
  switch (value.type) {
    case 'undefined':
      throw undefinedError(value.message)
    case 'float':
    case 'int':
      return numberAttribute(value, name)
    case 'markup':
      return stringAttribute(value.text, name, rules)
    case 'dict':
    case 'tuple':
      return containerAttribute(value, name, rules)
    case 'native':
      return value.attribute(name)
    case 'range':
      return name === 'start' || name === 'step' ? value[name] : undefined
    case 'callable':
    case 'stream':
      return undefined
  }
}

function stringAttribute(text: string, name: string, rules: Rules): Value | undefined {
  const lookups = {
    attribute: (value: Value, key: string) => getAttribute(value, key, rules),
    item: (value: Value, key: Value) => getItem(value, key, rules),
  }
  if (name === 'format') return callable(name, (positional, named) => formatBraces(text, { positional, named, ...lookups }))
  const method = stringMethods.get(name)
  if (method === undefined) return undefined
  return callable(name, (positional, named) => {
    spendRead(text.length)
    for (const argument of positional) spendItemsOf(argument)
    return method(text, { positional, named })
  })
}

function numberAttribute(value: Value, name: string): Value | undefined {
  if (name === 'real' || name === 'numerator') return value
  if (name === 'imag') return 0
  const number = asNumber(value)
  if (name === 'is_integer' && number?.isFloat === true) return callable(name, () => Number.isInteger(number.number))
  return undefined
}

function containerAttribute(value: Value, name: string, rules: Rules): Value | undefined {
  const found = containerMethod(value, name)
  if (found === undefined) return undefined
  if (found.mutates && rules === 'transformers') return unsafe(value, name)
  return callable(name, (positional, named) => found.run({ positional, named } satisfies CallArguments))
}

/** Not an error until it is used, as in jinja2's sandbox. */
function unsafe(value: Value, name: string): Value {
  return undefinedValue(`access to attribute '${name}' of '${typeName(value)}' object is unsafe.`)
}

function itemAt(value: Value, key: Value): Value | undefined {
  if (isA(value, 'undefined')) throw undefinedError(value.message)
  if (isA(value, 'dict')) {
    const hashable = !Array.isArray(key) && !isA(key, 'dict')
    return hashable ? value.entries.get(hashKey(key))?.value : undefined
  }
  const index = asNumber(key)
  if (index === undefined || index.isFloat) return undefined
  const at = (length: number) => (index.number < 0 ? index.number + length : index.number)
  if (isA(value, 'range')) return numberAt(value, at(value.length))
  const items = sequenceOf(value)
  return items === undefined ? undefined : items[at(items.length)]
}

function sequenceOf(value: Value): ArrayLike<Value> | undefined {
  if (typeof value === 'string') return characters(value)
  if (Array.isArray(value)) return value
  if (isA(value, 'tuple')) return value.items
  if (!isA(value, 'range')) return undefined
  return collect(value)
}

function numberAt({ start, step, length }: Extract<Value, { type: 'range' }>, index: number): Value | undefined {
  return Number.isInteger(index) && index >= 0 && index < length ? start + index * step : undefined
}

function missing(value: Value, key: Value): Value {
  const object = value === null ? 'None' : `${typeName(value)} object`
  return undefinedValue(
    typeof key === 'string' ? `'${object}' has no attribute '${key}'` : `${object} has no element ${toRepr(key)}`,
  )
}

type Bounds = { readonly start: Value | undefined; readonly stop: Value | undefined; readonly step: Value | undefined }

/** `value[start:stop:step]` of a text, list, tuple or range. Throws for anything else. */
export function getSlice(value: Value, bounds: Bounds): Value {
  if (isA(value, 'undefined')) throw undefinedError(value.message)
  const items = sequenceOf(value)
  if (items === undefined)
    throw runtimeError(isA(value, 'dict') ? "unhashable type: 'slice'" : `'${typeName(value)}' object is not subscriptable`)
  const step = bounds.step === undefined || bounds.step === null ? 1 : asInteger(bounds.step)
  if (step === 0) throw runtimeError('slice step cannot be zero')
  const { length } = items
  const clamp = (bound: Value | undefined, otherwise: number): number => {
    if (bound === undefined || bound === null) return otherwise
    const index = asInteger(bound)
    const low = step > 0 ? 0 : -1
    const high = step > 0 ? length : length - 1
    return Math.min(high, Math.max(low, index < 0 ? index + length : index))
  }
  const start = clamp(bounds.start, step > 0 ? 0 : length - 1)
  const stop = clamp(bounds.stop, step > 0 ? length : -1)
  if (typeof items === 'string' && step === 1) return items.slice(start, Math.max(start, stop))
  const picked: Value[] = []
  spendItems(Math.max(0, Math.ceil((stop - start) / step)))
  for (let index = start; step > 0 ? index < stop : index > stop; index += step) picked.push(items[index] ?? null)
  if (typeof value === 'string') return picked.join('')
  return isA(value, 'tuple') ? { type: 'tuple', items: picked } : picked
}
