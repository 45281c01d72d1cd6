import { spend } from './values/budget.ts'
import type { Value } from './values/value.ts'

/** Names and their values inside an outer scope. Assignments stay in the innermost one. */
export class Scope {
  readonly #names = new Map<string, Value>()
  readonly #outer: Scope | undefined

  constructor(outer?: Scope) {
    this.#outer = outer
  }

  find(name: string): Value | undefined {
    let scope: Scope | undefined = this
    let hops = 0
    while (scope !== undefined) {
      const value = scope.#names.get(name)
      if (value !== undefined) return value
      scope = scope.#outer
      hops += 1
      if (hops % 8 === 0) spend(1)
    }
    return undefined
  }

  /** The value that was assigned in this scope itself. */
  own(name: string): Value | undefined {
    return this.#names.get(name)
  }

  set(name: string, value: Value): void {
    this.#names.set(name, value)
  }
}
