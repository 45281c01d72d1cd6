import { choiceOf, type Expression, never, partsOf, repeat, sequenceOf } from './expression.ts'
import { findRules } from './find-rules.ts'

/**
 * Adds to `kept` the rules that `root` needs, without options that can never end: one that leads to an impossible or endless
 * value would trap the model. Returns false if nothing of `root` is left. Rules that are in `kept` already do not change.
 */
export function prune(rules: ReadonlyMap<string, Expression>, root: string, kept: Map<string, Expression>): boolean {
  const found = reachable(rules, root, kept)
  // The rules that have a finite text.
  const bodies = Array.from(found, ([name, { body }]) => [name, body] as const)
  const finite = findRules(bodies, (leaf) => leaf.type !== 'rule' || kept.has(leaf.name))
  if (!finite.has(root) && !kept.has(root)) return false
  const canEnd = (name: string): boolean => finite.has(name) || kept.has(name)
  const todo = [root]
  for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
    const body = rules.get(name)
    if (kept.has(name) || body === undefined) continue
    const names = found.get(name)?.names ?? namesIn(body)
    const isUnchanged = names.every(canEnd)
    const pruned = isUnchanged ? body : withoutEndless(body, canEnd)
    kept.set(name, pruned)
    for (const used of (isUnchanged ? names : namesIn(pruned)).toReversed()) todo.push(used)
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

function withoutEndless(expression: Expression, canEnd: (name: string) => boolean): Expression {
  switch (expression.type) {
    case 'literal':
    case 'chars':
      return expression
    case 'rule':
      return canEnd(expression.name) ? expression : never
    case 'sequence':
      return sequenceOf(expression.parts.map((part) => withoutEndless(part, canEnd)))
    case 'choice':
      return choiceOf(expression.options.map((option) => withoutEndless(option, canEnd)))
    case 'repeat':
      return repeat(withoutEndless(expression.part, canEnd), expression.min, expression.max)
  }
}
