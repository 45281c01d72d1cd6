import { areEqual } from './operations/compare.ts'
import { spendItems } from './values/budget.ts'
import { lengthOf } from './values/iterate.ts'
import { runtimeError } from './values/jinja-error.ts'
import { callable, type Native, undefinedValue, type Value } from './values/value.ts'

type LoopOptions = {
  /** The value that is iterated; absent when a filter makes its length unknown. */
  readonly source: Value | undefined
  readonly items: Iterator<Value>
  readonly depth: number
  /** Runs the loop's body over other items, one level deeper: `loop(items)`. */
  readonly recurse: ((items: Value) => Value) | undefined
}

/** The `loop` of a `for`. It reads ahead only on demand: the loop's filter may depend on what its body does. */
export class Loop {
  #items: Iterator<Value>
  #length: number | undefined
  #index = -1
  #before: Value | undefined
  #current: Value | undefined
  #ahead: IteratorResult<Value> | undefined
  #lastChanged: readonly Value[] | undefined
  readonly #options: LoopOptions

  constructor(options: LoopOptions) {
    this.#options = options
    this.#items = options.items
    this.#length = options.source === undefined ? undefined : lengthOf(options.source)
  }

  /** Advances to the next item; undefined at the end. */
  next(): Value | undefined {
    const result = this.#ahead ?? this.#items.next()
    this.#ahead = undefined
    if (result.done === true) return undefined
    this.#index += 1
    this.#before = this.#current
    this.#current = result.value
    return result.value
  }

  /** The name `loop` in templates. */
  readonly value: Native = {
    type: 'native',
    typeName: 'LoopContext',
    attribute: (name) => this.#attribute(name),
    call: ([items = null]) => {
      const { recurse } = this.#options
      if (recurse === undefined) {
        throw runtimeError("The loop must have the 'recursive' marker to be called recursively.")
      }
      return recurse(items)
    },
    text: () => `<LoopContext ${this.#index + 1}/${this.#size()}>`,
  }

  #attribute(name: string): Value | undefined {
    switch (name) {
      case 'index':
        return this.#index + 1
      case 'index0':
        return this.#index
      case 'revindex':
        return this.#size() - this.#index
      case 'revindex0':
        return this.#size() - this.#index - 1
      case 'first':
        return this.#index === 0
      case 'last':
        return this.#peek().done === true
      case 'length':
        return this.#size()
      case 'depth':
        return this.#options.depth + 1
      case 'depth0':
        return this.#options.depth
      case 'previtem':
        return this.#index > 0 && this.#before !== undefined ? this.#before : undefinedValue('there is no previous item')
      case 'nextitem': {
        const next = this.#peek()
        return next.done === true ? undefinedValue('there is no next item') : next.value
      }
      case 'cycle':
        return callable(name, (items) => {
          if (items.length === 0) throw runtimeError('no items for cycling given')
          return items[this.#index % items.length] ?? null
        })
      case 'changed':
        return callable(name, (values) => this.#changed(values))
      default:
        return undefined
    }
  }

  #peek(): IteratorResult<Value> {
    this.#ahead ??= this.#items.next()
    return this.#ahead
  }

  #size(): number {
    if (this.#length !== undefined) return this.#length
    const ahead = this.#ahead === undefined || this.#ahead.done === true ? 0 : 1
    const rest: Value[] = []
    for (let next = this.#items.next(); next.done !== true; next = this.#items.next()) {
      spendItems(1)
      rest.push(next.value)
    }
    this.#items = rest.values()
    this.#length = rest.length + this.#index + 1 + ahead
    return this.#length
  }

  #changed(values: readonly Value[]): boolean {
    const before = this.#lastChanged
    this.#lastChanged = values
    return before === undefined || !areEqual([...before], [...values])
  }
}
