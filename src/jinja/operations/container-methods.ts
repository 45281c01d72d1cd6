import { bindArguments, type CallArguments } from '../values/arguments.ts'
import { spend, spendItems, spendScan } from '../values/budget.ts'
import { asInteger, isTrue } from '../values/coerce.ts'
import { collect, itemsOf, iterate } from '../values/iterate.ts'
import { runtimeError } from '../values/jinja-error.ts'
import { type Dict, dict, hashKey, isA, orElse, type Stream, setKey, tuple, type Value } from '../values/value.ts'
import { areEqual, orderOf } from './compare.ts'

/** A method of a list, tuple or dictionary. */
type Method = {
  readonly run: (call: CallArguments) => Value
  /** It changes the object, which the sandbox of `transformers` refuses. */
  readonly mutates: boolean
}

export function containerMethod(value: Value, name: string): Method | undefined {
  if (isA(value, 'dict')) return pick(dictReaders(value), dictMutators(value), name)
  const items = itemsOf(value)
  if (items === undefined) return undefined
  return pick(sequenceReaders(items), Array.isArray(value) ? listMutators(value) : {}, name)
}

type Methods = Readonly<Record<string, (call: CallArguments) => Value>>

function pick(readers: Methods, mutators: Methods, name: string): Method | undefined {
  const reader = Object.hasOwn(readers, name) ? readers[name] : undefined
  if (reader !== undefined) return { run: reader, mutates: false }
  const mutator = Object.hasOwn(mutators, name) ? mutators[name] : undefined
  return mutator === undefined ? undefined : { run: mutator, mutates: true }
}

/** The pairs of a dictionary as tuples. */
export function* pairsOf({ entries }: Dict): Generator<Value> {
  for (const { key, value } of entries.values()) {
    spend(1)
    yield tuple(key, value)
  }
}

function* valuesOf({ entries }: Dict): Generator<Value> {
  for (const { value } of entries.values()) {
    spend(1)
    yield value
  }
}

function view(typeName: string, of: Dict, read: () => Iterator<Value>): Stream {
  return { type: 'stream', typeName, length: of.entries.size, read }
}

function dictReaders(of: Dict): Methods {
  return {
    get: (call) => {
      const [key = null, otherwise = null] = bindArguments(call, { name: 'get', parameters: ['key', 'default'], required: 1 })
      return orElse(of.entries.get(hashKey(key))?.value, () => otherwise)
    },
    keys: () => view('dict_keys', of, () => iterate(of)[Symbol.iterator]()),
    values: () => view('dict_values', of, () => valuesOf(of)),
    items: () => view('dict_items', of, () => pairsOf(of)),
    copy: () => {
      spendItems(of.entries.size)
      return { type: 'dict', entries: new Map(of.entries) }
    },
  }
}

function dictMutators(of: Dict): Methods {
  const take = (key: Value): Value | undefined => {
    const hash = hashKey(key)
    const value = of.entries.get(hash)?.value
    of.entries.delete(hash)
    return value
  }
  return {
    pop: (call) => {
      const [key = null, otherwise] = bindArguments(call, { name: 'pop', parameters: ['key', 'default'], required: 1 })
      return orElse(take(key), () => {
        if (otherwise === undefined) throw runtimeError('KeyError: the dictionary has no such key')
        return otherwise
      })
    },
    popitem: () => {
      spendItems(of.entries.size)
      const last = [...of.entries.values()].at(-1)
      if (last === undefined) throw runtimeError('popitem(): dictionary is empty')
      take(last.key)
      return tuple(last.key, last.value)
    },
    setdefault: (call) => {
      const [key = null, otherwise = null] = bindArguments(call, {
        name: 'setdefault',
        parameters: ['key', 'default'],
        required: 1,
      })
      return orElse(of.entries.get(hashKey(key))?.value, () => {
        setKey(of, key, otherwise)
        return otherwise
      })
    },
    update: ({ positional, named }) => {
      for (const { key, value } of makeDict({ positional, named }).entries.values()) setKey(of, key, value)
      return null
    },
    clear: () => {
      of.entries.clear()
      return null
    },
  }
}

/** Python's `dict(…)`: of a dictionary, of pairs, of named values. */
export function makeDict({ positional, named }: CallArguments): Dict {
  const made = dict()
  for (const source of positional) {
    if (isA(source, 'dict')) for (const { key, value } of source.entries.values()) setKey(made, key, value)
    else {
      for (const pair of iterate(source)) {
        const [key, value] = collect(pair)
        if (key === undefined || value === undefined) throw runtimeError('dictionary update sequence needs pairs')
        setKey(made, key, value)
      }
    }
  }
  for (const [key, value] of named) setKey(made, key, value)
  return made
}

function sequenceReaders(items: readonly Value[]): Methods {
  return {
    count: ({ positional: [wanted = null] }) => items.filter((item) => areEqual(item, wanted)).length,
    index: ({ positional: [wanted = null] }) => {
      const at = items.findIndex((item) => areEqual(item, wanted))
      if (at === -1) throw runtimeError('the value is not in the list')
      return at
    },
    copy: () => {
      spendItems(items.length)
      return [...items]
    },
  }
}

function listMutators(list: Value[]): Methods {
  const done = (_result: unknown) => null
  return {
    append: ({ positional: [item = null] }) => {
      spendItems(1)
      return done(list.push(item))
    },
    extend: ({ positional: [items = null] }) => {
      for (const item of collect(items)) list.push(item)
      return null
    },
    insert: ({ positional: [at = 0, item = null] }) => {
      spendItems(1)
      spendScan(list.length)
      return done(list.splice(asInteger(at), 0, item))
    },
    remove: ({ positional: [wanted = null] }) => {
      const at = list.findIndex((item) => areEqual(item, wanted))
      if (at === -1) throw runtimeError('list.remove(x): x not in list')
      return done(list.splice(at, 1))
    },
    pop: ({ positional: [at = -1] }) => {
      spendScan(list.length)
      const [taken] = list.splice(asInteger(at), 1)
      if (taken === undefined) throw runtimeError(list.length === 0 ? 'pop from empty list' : 'pop index out of range')
      return taken
    },
    clear: () => done(list.splice(0)),
    reverse: () => {
      spend(list.length >> 3)
      return done(list.reverse())
    },
    sort: (call) => {
      const [reverse = false] = bindArguments(call, { name: 'sort', parameters: ['reverse'] })
      list.sort((a, b) => {
        spend(2)
        return orderOf(a, b)
      })
      return done(isTrue(reverse) && list.reverse())
    },
  }
}
