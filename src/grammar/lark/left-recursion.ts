import { choiceOf, type Expression, empty, isEmpty, repeat, sequence, sequenceOf } from '../rules/expression.ts'
import { leadingNames } from '../rules/nullable.ts'
import type { EmptyTexts } from './empty-texts.ts'

/** The effort of writing one way to begin. */
const effortPerLead = 10

type Context = {
  /** The rules that allow the empty text. */
  readonly nullable: ReadonlySet<string>
  readonly emptyTexts: EmptyTexts
  /** Counts effort, in about microseconds, and throws past the limit. */
  spend(effort: number): void
}

/** One way to begin: with a rule that begins with itself, or with anything else, which is then part of `rest`. */
type Lead = { readonly head: string | undefined; readonly rest: Expression }

/**
 * The rules with the same texts, where none begins with itself, directly or through others: `sum ::= sum "+" n | n` becomes
 * `sum ::= n ("+" n)*` (Paull's algorithm). A rule that may begin with itself after another rule of that kind that is empty stays as
 * it is.
 */
export function withoutLeftRecursion(
  rules: ReadonlyMap<string, Expression>,
  { nullable, emptyTexts, spend }: Context,
): ReadonlyMap<string, Expression> {
  const recursive = leftRecursive(rules, { nullable, spend })
  if (recursive.size === 0) return rules
  const order = [...recursive]
  const done = new Map<string, readonly Lead[]>()
  const rewritten = new Map(rules)
  for (const name of order) {
    let leads = allLeads(rules.get(name) ?? empty)
    while (leads.some(({ head }) => head !== undefined && done.has(head))) leads = leads.flatMap(substituted)
    const tails = leads.filter(({ head }) => head === name).map(({ rest }) => rest)
    const others = leads.filter(({ head }) => head !== name)
    const loop = repeat(choiceOf(tails.filter((tail) => !isEmpty(tail))), 0)
    const finished = others.map(({ head, rest }) => ({ head, rest: sequence(rest, loop) }))
    done.set(name, finished)
    rewritten.set(name, choiceOf(finished.map(expressionOf)))
  }
  return rewritten

  function substituted(lead: Lead): readonly Lead[] {
    const inner = lead.head === undefined ? undefined : done.get(lead.head)
    if (inner === undefined) return [lead]
    spend(inner.length * effortPerLead)
    return inner.map(({ head, rest }) => ({ head, rest: sequence(rest, lead.rest) }))
  }

  function allLeads(body: Expression): readonly Lead[] {
    const leads = solidLeads(body)
    return emptyTexts.isNullable(body) ? [...leads, { head: undefined, rest: empty }] : leads
  }

  /** The ways to begin a text that is not empty. */
  function solidLeads(expression: Expression): readonly Lead[] {
    spend(1)
    if (!leadingNames(expression, nullable).some((name) => recursive.has(name))) {
      return [{ head: undefined, rest: emptyTexts.solid(expression) }]
    }
    switch (expression.type) {
      case 'literal':
      case 'chars':
        return [{ head: undefined, rest: expression }]
      case 'rule':
        return [{ head: expression.name, rest: empty }]
      case 'choice':
        return expression.options.flatMap(solidLeads)
      case 'sequence': {
        const [first = empty, ...others] = expression.parts
        const rest = sequenceOf(others)
        const leads = solidLeads(first).map((lead) => ({ head: lead.head, rest: sequence(lead.rest, rest) }))
        return emptyTexts.isNullable(first) ? [...leads, ...solidLeads(rest)] : leads
      }
      case 'repeat': {
        const { part, min, max } = expression
        const more = repeat(part, Math.max(0, min - 1), max === undefined ? undefined : max - 1)
        return solidLeads(part).map(({ head, rest }) => ({ head, rest: sequence(rest, more) }))
      }
    }
  }
}

function expressionOf({ head, rest }: Lead): Expression {
  return head === undefined ? rest : sequence({ type: 'rule', name: head }, rest)
}

/** The rules that may begin with themselves. */
function leftRecursive(
  rules: ReadonlyMap<string, Expression>,
  { nullable, spend }: Pick<Context, 'nullable' | 'spend'>,
): ReadonlySet<string> {
  const leading = new Map([...rules].map(([name, body]) => [name, [...new Set(leadingNames(body, nullable))]]))
  const reaches = (start: string): boolean => {
    const seen = new Set<string>()
    const todo = [...(leading.get(start) ?? [])]
    for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
      if (name === start) return true
      if (seen.has(name)) continue
      seen.add(name)
      spend(1)
      todo.push(...(leading.get(name) ?? []))
    }
    return false
  }
  return new Set([...rules.keys()].filter(reaches))
}
