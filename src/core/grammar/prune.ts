import { choiceOf, type Expression, never, repeat, sequenceOf } from './expression.ts'

/**
 * Adds to `kept` the rules that `root` needs, without what can never be finished: an alternative that leads to an impossible or
 * an endless value would leave the model in a place without a way out. False when nothing of `root` is left. What is in `kept`
 * already stays as it is.
 */
export function prune(rules: ReadonlyMap<string, Expression>, root: string, kept: Map<string, Expression>): boolean {
  const found = reachable(rules, root, kept)
  const finite = findFinite(found, kept)
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
  switch (expression.type) {
    case 'literal':
    case 'chars':
      return
    case 'rule':
      names.push(expression.name)
      return
    case 'sequence':
      for (const part of expression.parts) collectNames(part, names)
      return
    case 'choice':
      for (const option of expression.options) collectNames(option, names)
      return
    case 'repeat':
      collectNames(expression.part, names)
  }
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

/** The rules from which some finite text comes: those without references first, then those that need only such ones, and so on. */
function findFinite(rules: ReadonlyMap<string, Found>, kept: Rules): Set<string> {
  const finite = new Set<string>()
  const endsSomewhere = (name: string): boolean => finite.has(name) || kept.has(name)
  const users = new Map<string, string[]>()
  for (const [name, { names }] of rules) {
    for (const used of names) {
      if (kept.has(used)) continue
      const list = users.get(used)
      if (list === undefined) users.set(used, [name])
      else list.push(name)
    }
  }
  const todo = [...rules.keys()]
  for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
    const body = rules.get(name)?.body
    if (body === undefined || finite.has(name) || !canEnd(body, endsSomewhere)) continue
    finite.add(name)
    for (const user of users.get(name) ?? []) todo.push(user)
  }
  return finite
}

type EndsSomewhere = (name: string) => boolean

function canEnd(expression: Expression, endsSomewhere: EndsSomewhere): boolean {
  switch (expression.type) {
    case 'literal':
    case 'chars':
      return true
    case 'rule':
      return endsSomewhere(expression.name)
    case 'sequence':
      return expression.parts.every((part) => canEnd(part, endsSomewhere))
    case 'choice':
      return expression.options.some((option) => canEnd(option, endsSomewhere))
    case 'repeat':
      return expression.min === 0 || canEnd(expression.part, endsSomewhere)
  }
}

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
