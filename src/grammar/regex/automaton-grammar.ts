import type { CharSet } from '../rules/char-set.ts'
import { anyChar } from '../rules/char-set.ts'
import { choice, type Expression, empty, never, repeat, rule, sequence } from '../rules/expression.ts'
import { unlessTooLarge } from '../rules/grammar-error.ts'
import type { AutomatonLimit } from '../rules/limits.ts'
import type { RuleBook } from '../rules/rule-book.ts'
import { type Automaton, determinize, trim } from './automaton.ts'

const maxChain = 60

/**
 * The automaton's texts as rules, one for each state with several edges in. `spell` writes one character of a set; `end`
 * follows every text.
 */
export function automatonGrammar(
  book: RuleBook,
  automaton: Automaton,
  options: { readonly hint: string; readonly spell: (set: CharSet) => Expression; readonly end?: Expression },
): Expression {
  const states = trim(smallest(automaton, book.automatonLimit))
  const inDegree = states.map(() => 0)
  for (const { edges } of states) for (const { to } of edges) inDegree[to] = (inDegree[to] ?? 0) + 1
  const end = options.end ?? empty
  const names = new Map<number, string>()
  const spell = remember((set: CharSet) => {
    const spelled = options.spell(set)
    // Long classes occur in many states; rules for them keep the grammar small.
    return set.length > 4 || set === anyChar ? book.shared('chars', spelled) : spelled
  })

  const bodyOf = (index: number, chained = 0): Expression => {
    const state = states[index]
    if (state === undefined) return never
    const loop = state.edges.find(({ to }) => to === index)
    const onward = state.edges.filter((edge) => edge !== loop).map(({ set, to }) => sequence(spell(set), follow(to, chained)))
    const rest = choice(...onward, ...(state.accepting ? [end] : []))
    return loop === undefined ? rest : sequence(repeat(spell(loop.set), 0), rest)
  }
  const follow = (index: number, chained = 0): Expression => {
    const known = names.get(index)
    if (known !== undefined) return rule(known)
    const state = states[index]
    // A chain needs no names: its states have one edge in and one out.
    const isLink =
      inDegree[index] === 1 && index !== 0 && state !== undefined && state.edges.length + (state.accepting ? 1 : 0) === 1
    if (isLink && chained < maxChain && state.edges.every(({ to }) => to !== index)) return bodyOf(index, chained + 1)
    const name = book.reserve(options.hint)
    names.set(index, name)
    todo.push(index)
    return rule(name)
  }
  const todo: number[] = []
  const start = inDegree[0] === 0 ? bodyOf(0) : follow(0)
  for (let index = todo.pop(); index !== undefined; index = todo.pop()) {
    const name = names.get(index)
    if (name !== undefined) book.fill(name, bodyOf(index))
  }
  return start
}

/** Deterministic if that stays small: some patterns have far fewer states otherwise. */
function smallest(automaton: Automaton, limit: AutomatonLimit): Automaton {
  const states = Math.min(limit.states, automaton.length * 8 + 64)
  return unlessTooLarge(() => determinize(automaton, { states, spend: limit.spend })) ?? automaton
}

function remember(make: (set: CharSet) => Expression): (set: CharSet) => Expression {
  const known = new Map<string, Expression>()
  return (set) => {
    const key = set.join()
    const found = known.get(key) ?? make(set)
    known.set(key, found)
    return found
  }
}
