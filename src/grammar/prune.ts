import { choiceOf, type Expression, never, partsOf, repeat, sequenceOf } from './expression.ts'
import { findRules } from './find-rules.ts'

/**
 * Adds to `kept` the rules that `root` needs, without what can never be finished: an alternative that leads to an impossible or
 * an endless value would leave the model in a place without a way out. False when nothing of `root` is left. What is in `kept`
 * already stays as it is.
 */
export function prune(rules: ReadonlyMap<string, Expression>, root: string, kept: Map<string, Expression>): boolean {
  const found = reachable(rules, root, kept)
  // From which some finite text comes.
  const bodies = Array.from(found, ([name, { body }]) => [name, body] as const)
  const finite = findRules(bodies, (leaf) => leaf.type !== 'rule' || kept.has(leaf.name))
  if (!finite.has(root) && !kept.has(root)) return false
  const endsSomewhere = (name: string): boolean => finite.has(name) || kept.has(name)
  const todo = [root]
  for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
    const body = rules.get(name)
    if (kept.has(name) || body === undefined) continue
    const names = found.get(name)?.names ?? namesIn(body)
    const isWhole = names.every(endsSomewhere)
    const pruned = isWhole ? body : cut(body, endsSomewhere)
    kept.set(name, pruned)
    for (const used of (isWhole ? names : namesIn(pruned)).toReversed()) todo.push(used)
  }
  return true
}

/** The names of the rules that an expression refers to, in order. */
export function namesIn(expression: Expression): string[] {
  const names: string[] = []
  collectNames(expression, names)
  return names
}

function collectNames(expression: Expression, names: string[]): void {
  if (expression.type === 'rule') names.push(expression.name)
  else for (const part of partsOf(expression)) collectNames(part, names)
}

type Rules = ReadonlyMap<string, Expression>

/** A rule that is looked at, and the names in it. */
type Found = { readonly body: Expression; readonly names: readonly string[] }

function reachable(rules: Rules, root: string, kept: Rules): Map<string, Found> {
  const found = new Map<string, Found>()
  const todo = [root]
  for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
    const body = rules.get(name)
    if (found.has(name) || kept.has(name) || body === undefined) continue
    const names = namesIn(body)
    found.set(name, { body, names })
    for (const used of names) if (!found.has(used) && !kept.has(used)) todo.push(used)
  }
  return found
}

type EndsSomewhere = (name: string) => boolean

function cut(expression: Expression, endsSomewhere: EndsSomewhere): Expression {
  switch (expression.type) {
    case 'literal':
    case 'chars':
      return expression
    case 'rule':
      return endsSomewhere(expression.name) ? expression : never
    case 'sequence':
      return sequenceOf(expression.parts.map((part) => cut(part, endsSomewhere)))
    case 'choice':
      return choiceOf(expression.options.map((option) => cut(option, endsSomewhere)))
    case 'repeat':
      return repeat(cut(expression.part, endsSomewhere), expression.min, expression.max)
  }
}
