import type { Expression } from './expression.ts'

/** An expression without parts. */
type Leaf = Extract<Expression, { type: 'literal' | 'chars' | 'rule' }>

/**
 * The rules that have a property which follows from the parts: a sequence has it if all its parts do, a choice if one option
 * does, and a repetition also if it may be left out. `holds` decides for leaves; for a rule's name, whether it is known to have
 * it. Linear in the size of the rules: each rule that is found notifies those that wait for it.
 */
export function findRules(rules: Iterable<readonly [string, Expression]>, holds: (leaf: Leaf) => boolean): Set<string> {
  const search: Search = { holds, listeners: new Map() }
  const found = new Set<string>()
  const toNotify: string[] = []
  for (const [name, body] of rules) {
    whenFound(body, search, () => {
      if (found.has(name)) return
      found.add(name)
      toNotify.push(name)
    })
  }
  for (let name = toNotify.pop(); name !== undefined; name = toNotify.pop()) {
    for (const listener of search.listeners.get(name) ?? []) listener()
  }
  return found
}

/** `listeners` are called when a rule is found. */
type Search = { readonly holds: (leaf: Leaf) => boolean; readonly listeners: Map<string, (() => void)[]> }

/** Calls `then`, at least once, when the expression is known to have the property. */
function whenFound(expression: Expression, search: Search, then: () => void): void {
  switch (expression.type) {
    case 'literal':
    case 'chars':
      if (search.holds(expression)) then()
      return
    case 'rule':
      if (search.holds(expression)) then()
      else waitFor(expression.name, search, then)
      return
    case 'choice':
      for (const option of expression.options) whenFound(option, search, then)
      return
    case 'repeat':
      if (expression.min === 0) then()
      else whenFound(expression.part, search, then)
      return
    case 'sequence': {
      const missing = new Set(expression.parts)
      if (missing.size === 0) then()
      for (const part of expression.parts) {
        whenFound(part, search, () => {
          if (missing.delete(part) && missing.size === 0) then()
        })
      }
    }
  }
}

function waitFor(name: string, { listeners }: Search, then: () => void): void {
  const others = listeners.get(name)
  if (others === undefined) listeners.set(name, [then])
  else others.push(then)
}
