import { calculate } from '../operations/arithmetic.ts'
import { getItem } from '../operations/attributes.ts'
import { areEqual, orderOf } from '../operations/compare.ts'
import { reverseText } from '../texts/string-methods.ts'
import { bindArguments, type CallArguments } from '../values/arguments.ts'
import { spend, spendItems, spendText } from '../values/budget.ts'
import { asInteger, isTrue } from '../values/coerce.ts'
import { plainText } from '../values/foreign-text.ts'
import { collect, iterate, lengthOf } from '../values/iterate.ts'
import { runtimeError, undefinedError } from '../values/jinja-error.ts'
import { joinTexts, toText } from '../values/print.ts'
import { compareTexts } from '../values/text.ts'
import { generator, hashKey, isA, orElse, tuple, typeName, undefinedValue, type Value } from '../values/value.ts'
import type { Environment, Filter } from './environment.ts'

/** The filters of jinja2 for sequences. Those that are generators in Python are generators here. */
export const sequenceFilters = {
  batch: (input, call) => {
    const [size = 1, fill = null] = bindArguments(call, { name: 'batch', parameters: ['linecount', 'fill_with'], required: 1 })
    return generator(batches(collect(input), asInteger(size), fill))
  },
  dictsort: (input, call) => {
    const parameters = ['case_sensitive', 'by', 'reverse'] as const
    const [caseSensitive = false, by = 'key', reverse = false] = bindArguments(call, { name: 'dictsort', parameters })
    if (by !== 'key' && by !== 'value') throw runtimeError('You can only sort by either "key" or "value"')
    if (isA(input, 'undefined')) throw undefinedError(input.message)
    if (!isA(input, 'dict')) throw runtimeError(`'${typeName(input)}' object has no attribute 'items'`)
    spendItems(input.entries.size)
    const entries = [...input.entries.values()]
    const keyed = entries.map(({ key, value }) => ({ item: tuple(key, value), key: [by === 'key' ? key : value] }))
    return sortKeyed(keyed, { caseSensitive: isTrue(caseSensitive), reverse: isTrue(reverse) })
  },
  first: (input) => {
    const next = iterate(input)[Symbol.iterator]().next()
    return next.done === true ? undefinedValue('No first item, sequence was empty.') : next.value
  },
  join: (input, call, environment) => {
    const [by = '', attribute = null] = bindArguments(call, { name: 'join', parameters: ['d', 'attribute'] })
    const get = (item: Value) => (attribute === null ? item : attributeOf(item, attribute, { environment }))
    return joinTexts(
      collect(input).map((item) => toText(get(item))),
      toText(by),
    )
  },
  last: (input) => orElse(reversed(input)[0], () => undefinedValue('No last item, sequence was empty.')),
  list: collect,
  map: (input, call, environment) => {
    if (!isTrue(input)) return generator([])
    const convert = prepareMap(call, environment)
    return generator(mapped(iterate(input), convert))
  },
  max: (input, call, environment) => extreme(input, call, { environment, name: 'max' }),
  min: (input, call, environment) => extreme(input, call, { environment, name: 'min' }),
  reject: (input, call, environment) => choose(input, call, { environment, wanted: false, byAttribute: false }),
  rejectattr: (input, call, environment) => choose(input, call, { environment, wanted: false, byAttribute: true }),
  reverse: (input) => {
    if (typeof input === 'string') return reverseText(input)
    if (lengthOf(input) === undefined) return collect(input).reverse()
    return generator(reversed(input), 'list_reverseiterator')
  },
  select: (input, call, environment) => choose(input, call, { environment, wanted: true, byAttribute: false }),
  selectattr: (input, call, environment) => choose(input, call, { environment, wanted: true, byAttribute: true }),
  sort: (input, call, environment) => {
    const parameters = ['reverse', 'case_sensitive', 'attribute'] as const
    const [reverse = false, caseSensitive = false, attribute = null] = bindArguments(call, { name: 'sort', parameters })
    const paths: Value[] = typeof attribute === 'string' ? plainText(attribute).split(',') : [attribute]
    const keyed = collect(input).map((item) => ({
      item,
      key: paths.map((path) => (path === null ? item : attributeOf(item, path, { environment }))),
    }))
    return sortKeyed(keyed, { caseSensitive: isTrue(caseSensitive), reverse: isTrue(reverse) })
  },
  sum: (input, call, environment) => {
    const [attribute = null, start = 0] = bindArguments(call, { name: 'sum', parameters: ['attribute', 'start'] })
    let total = start
    for (const item of iterate(input)) {
      spend(1)
      total = calculate('+', total, attribute === null ? item : attributeOf(item, attribute, { environment }))
    }
    return total
  },
  unique: (input, call, environment) => {
    const [caseSensitive = false, attribute = null] = bindArguments(call, {
      name: 'unique',
      parameters: ['case_sensitive', 'attribute'],
    })
    const get = (item: Value) => (attribute === null ? item : attributeOf(item, attribute, { environment }))
    return generator(distinct(iterate(input), (item) => hashKey(fold(get(item), isTrue(caseSensitive)))))
  },
} satisfies Record<string, Filter>

/** Steps for each attribute that a filter reads, beside an expression that reads one. */
const attributeSteps = 12

type AttributeOptions = { readonly environment: Environment; readonly otherwise?: Value | undefined }

/** Resolves a path such as `a.b.0`, the `attribute` argument of filters. */
function attributeOf(item: Value, path: Value, { environment, otherwise }: AttributeOptions): Value {
  const parts =
    typeof path === 'string'
      ? plainText(path)
          .split('.')
          .map((part) => (/^\d+$/.test(part) ? Number(part) : part))
      : [path]
  let value = item
  for (const part of parts) {
    spend(attributeSteps)
    value = getItem(value, part, environment.rules)
    if (otherwise !== undefined && isA(value, 'undefined')) value = otherwise
  }
  return value
}

function fold(value: Value, caseSensitive: boolean): Value {
  if (typeof value !== 'string' || caseSensitive) return value
  spend(2)
  spendText(value.length)
  return plainText(value).toLowerCase()
}

type Keyed = { readonly item: Value; readonly key: readonly Value[] }
type SortOptions = { readonly caseSensitive: boolean; readonly reverse: boolean }

/** A stable sort; equal items keep their order even when reversed. */
function sortKeyed(items: readonly Keyed[], { caseSensitive, reverse }: SortOptions): Value[] {
  const folded = items.map(({ item, key }) => ({ item, key: key.map((part) => fold(part, caseSensitive)) }))
  const order = (a: Keyed, b: Keyed): number => {
    for (const [index, part] of a.key.entries()) {
      const other = b.key[index] ?? null
      spend(2)
      if (typeof part === 'string' && typeof other === 'string') {
        const difference = compareTexts(part, other)
        if (difference !== 0) return difference
      } else if (!areEqual(part, other)) return orderOf(part, other)
    }
    return 0
  }
  return folded.sort((a, b) => (reverse ? order(b, a) : order(a, b))).map(({ item }) => item)
}

function reversed(input: Value): Value[] {
  if (lengthOf(input) === undefined) throw runtimeError(`'${typeName(input)}' object is not reversible`)
  return collect(input).reverse()
}

type ExtremeOptions = { readonly environment: Environment; readonly name: 'min' | 'max' }

function extreme(input: Value, call: CallArguments, { environment, name }: ExtremeOptions): Value {
  const [caseSensitive = false, attribute = null] = bindArguments(call, { name, parameters: ['case_sensitive', 'attribute'] })
  const keyOf = (item: Value) =>
    fold(attribute === null ? item : attributeOf(item, attribute, { environment }), isTrue(caseSensitive))
  const [first, ...rest] = collect(input).map((item) => ({ item, key: keyOf(item) }))
  if (first === undefined) return undefinedValue('No aggregated item, sequence was empty.')
  const better = (a: Value, b: Value) => (name === 'min' ? orderOf(a, b) < 0 : orderOf(a, b) > 0)
  return rest.reduce((best, next) => (better(next.key, best.key) ? next : best), first).item
}

function prepareMap(call: CallArguments, environment: Environment): (item: Value) => Value {
  const { positional, named } = call
  if (positional.length === 0 && named.has('attribute')) {
    const parameters = ['attribute', 'default'] as const
    const [attribute = '', otherwise] = bindArguments(call, { name: 'map', parameters })
    return (item) => attributeOf(item, attribute, { environment, otherwise })
  }
  const [name, ...args] = positional
  if (name === undefined) throw runtimeError('map requires a filter argument')
  const filter = environment.filter(plainText(toText(name)))
  return (item) => filter(item, { positional: args, named }, environment)
}

function* mapped(items: Iterable<Value>, convert: (item: Value) => Value): Generator<Value> {
  for (const item of items) {
    spend(1)
    yield convert(item)
  }
}

type ChooseOptions = { readonly environment: Environment; readonly wanted: boolean; readonly byAttribute: boolean }

function choose(input: Value, { positional, named }: CallArguments, { environment, wanted, byAttribute }: ChooseOptions): Value {
  if (!isTrue(input)) return generator([])
  const [attribute] = positional
  if (byAttribute && attribute === undefined) throw runtimeError('Missing parameter for attribute name')
  const [name, ...args] = byAttribute ? positional.slice(1) : positional
  const test = name === undefined ? isTrue : prepareTest(plainText(toText(name)), { positional: args, named }, environment)
  const get = (item: Value) => (byAttribute && attribute !== undefined ? attributeOf(item, attribute, { environment }) : item)
  return generator(chosen(iterate(input), (item) => test(get(item)) === wanted))
}

function prepareTest(name: string, call: CallArguments, environment: Environment): (item: Value) => boolean {
  const test = environment.test(name)
  return (item) => test(item, call, environment)
}

function* chosen(items: Iterable<Value>, keeps: (item: Value) => boolean): Generator<Value> {
  for (const item of items) {
    spend(1)
    if (keeps(item)) yield item
  }
}

function* distinct(items: Iterable<Value>, keyOf: (item: Value) => unknown): Generator<Value> {
  const seen = new Set<unknown>()
  for (const item of items) {
    spendItems(1)
    const key = keyOf(item)
    if (!seen.has(key)) yield item
    seen.add(key)
  }
}

/** As jinja2 counts: only a full batch is yielded before the next item, so that sizes below one have their own results. */
function* batches(items: readonly Value[], size: number, fill: Value): Generator<Value> {
  let batch: Value[] = []
  for (const item of items) {
    if (batch.length === size) {
      yield batch
      batch = []
    }
    spendItems(1)
    batch.push(item)
  }
  if (batch.length === 0) return
  if (fill !== null) {
    spendItems(Math.max(0, size - batch.length))
    while (batch.length < size) batch.push(fill)
  }
  yield batch
}
