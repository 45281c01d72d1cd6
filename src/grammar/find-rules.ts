import type { Expression } from './expression.ts'

/** What an expression is made of in the end. */
export type Leaf = Extract<Expression, { type: 'literal' | 'chars' | 'rule' }>

/**
 * The rules of which something holds that holds of a whole when it holds of its parts: of every part of a sequence, of one
 * option of a choice, and of a repetition that may be left out. `holds` says it of the leaves; of a rule's name it says what
 * was known before. The time grows with the size of the rules alone: each one that is found tells those who wait for it.
 */
export function findRules(rules: Iterable<readonly [string, Expression]>, holds: (leaf: Leaf) => boolean): Set<string> {
  const search: Search = { holds, waiting: new Map() }
  const found = new Set<string>()
  const untold: string[] = []
  for (const [name, body] of rules) {
    whenFound(body, search, () => {
      if (found.has(name)) return
      found.add(name)
      untold.push(name)
    })
  }
  for (let name = untold.pop(); name !== undefined; name = untold.pop()) {
    for (const tell of search.waiting.get(name) ?? []) tell()
  }
  return found
}

/** `waiting`: who is to be told when a rule is found. */
type Search = { readonly holds: (leaf: Leaf) => boolean; readonly waiting: Map<string, (() => void)[]> }

/** Calls `then`, once or more often, when it is known to hold of the expression. */
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

function waitFor(name: string, { waiting }: Search, then: () => void): void {
  const others = waiting.get(name)
  if (others === undefined) waiting.set(name, [then])
  else others.push(then)
}
