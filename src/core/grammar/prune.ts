import { choice, type Expression, isNever, never, repeat, sequence } from './expression.ts'

/**
 * Adds to `kept` the rules that `root` needs, without what can never be finished: an alternative that leads to an impossible or
 * an endless value would leave the model in a place without a way out. False when nothing of `root` is left. What is in `kept`
 * already stays as it is.
 */
export function prune(rules: ReadonlyMap<string, Expression>, root: string, kept: Map<string, Expression>): boolean {
  const finite = findFinite(reachable(rules, root, kept), kept)
  if (!finite.has(root) && !kept.has(root)) return false
  const endsSomewhere = (name: string): boolean => finite.has(name) || kept.has(name)
  const todo = [root]
  for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
    const body = rules.get(name)
    if (kept.has(name) || body === undefined) continue
    const pruned = cut(body, endsSomewhere)
    kept.set(name, pruned)
    todo.push(...namesIn(pruned).reverse())
  }
  return true
}

/** The names of the rules that an expression refers to, in order. */
export function namesIn(expression: Expression): string[] {
  switch (expression.type) {
    case 'literal':
    case 'chars':
      return []
    case 'rule':
      return [expression.name]
    case 'sequence':
      return expression.parts.flatMap(namesIn)
    case 'choice':
      return expression.options.flatMap(namesIn)
    case 'repeat':
      return namesIn(expression.part)
  }
}

type Rules = ReadonlyMap<string, Expression>

function reachable(rules: Rules, root: string, kept: Rules): Map<string, Expression> {
  const found = new Map<string, Expression>()
  const todo = [root]
  for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
    const body = rules.get(name)
    if (found.has(name) || kept.has(name) || body === undefined) continue
    found.set(name, body)
    todo.push(...namesIn(body))
  }
  return found
}

/** The rules from which some finite text comes: those without references first, then those that need only such ones, and so on. */
function findFinite(rules: Rules, kept: Rules): Set<string> {
  const finite = new Set<string>()
  const endsSomewhere = (name: string): boolean => finite.has(name) || kept.has(name)
  const users = new Map<string, string[]>()
  for (const [name, body] of rules) {
    for (const used of namesIn(body)) {
      const list = users.get(used)
      if (list === undefined) users.set(used, [name])
      else list.push(name)
    }
  }
  const todo = [...rules.keys()]
  for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
    const body = rules.get(name)
    if (body === undefined || finite.has(name) || !canEnd(body, endsSomewhere)) continue
    finite.add(name)
    todo.push(...(users.get(name) ?? []))
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
      return sequence(...expression.parts.map((part) => cut(part, endsSomewhere)))
    case 'choice':
      return choice(...expression.options.map((option) => cut(option, endsSomewhere)).filter((option) => !isNever(option)))
    case 'repeat':
      return repeat(cut(expression.part, endsSomewhere), expression.min, expression.max)
  }
}
