import { anyChar, type CharSet, isEmptySet } from '../rules/char-set.ts'
import { tooLarge, unlessTooLarge } from '../rules/grammar-error.ts'
import type { AutomatonLimit } from '../rules/limits.ts'
import { type Automaton, both, except, explore, splitEdges, trim } from './automaton.ts'
import { parseRegex, type Regex, unsupported } from './regex-syntax.ts'

/** A move of the network to `to`: for free, by reading a character, or at the start or end of the text. */
type Move =
  | { readonly type: 'free' | 'start' | 'end'; readonly to: number }
  | { readonly type: 'chars'; readonly set: CharSet; readonly to: number }

/**
 * The texts in which a pattern is found, as in JSON Schema anywhere unless it is anchored. Throws as `parseRegex` does, and when
 * the pattern is too large.
 */
export function regexAutomaton(source: string, limit: AutomatonLimit): Automaton {
  return automatonOf(parseRegex(source), limit)
}

/** The texts that a pattern of `wholeRegex` matches. */
export function wholeTextAutomaton(regex: Regex, limit: AutomatonLimit): Automaton {
  return automatonOf(regex, limit)
}

/**
 * The same, deterministic: an engine that follows it has one way at each character. Undefined where that takes too many states or too
 * much work.
 */
export function wholeTextDeterministic(regex: Regex, limit: AutomatonLimit): Automaton | undefined {
  const { looks, rest } = splitLooks(regex)
  if (looks.length > 0) return undefined
  return unlessTooLarge(() => trim(determinized(networkOf(rest, limit), limit)))
}

/** The pattern between `^` and `$`. */
export function wholeRegex(regex: Regex): Regex {
  const parts = regex.type === 'sequence' ? regex.parts : [regex]
  const inner = parts.slice(parts[0]?.type === 'start' ? 1 : 0, parts.at(-1)?.type === 'end' ? -1 : undefined)
  return { type: 'sequence', parts: [{ type: 'start' }, ...inner, { type: 'end' }] }
}

function automatonOf(regex: Regex, limit: AutomatonLimit): Automaton {
  const { looks, rest } = splitLooks(regex)
  const main = trim(emptyMovesRemoved(networkOf(rest, limit), limit))
  return looks.reduce<Automaton>((sum, look) => {
    const seen = automatonOf({ type: 'sequence', parts: [{ type: 'start' }, look.part] }, limit)
    return trim(both(sum, look.negated ? except(seen, limit) : seen, limit))
  }, main)
}

/** The effort of building or visiting one node of the network. */
const effortPerNode = 0.2

type Look = Extract<Regex, { type: 'lookahead' }>

/** Look-aheads right after a leading `^` are conditions on the whole text; elsewhere they depend on the position. */
function splitLooks(regex: Regex): { looks: Look[]; rest: Regex } {
  if (regex.type !== 'sequence' || regex.parts[0]?.type !== 'start') return { looks: [], rest: regex }
  const [start, ...others] = regex.parts
  const end = others.findIndex((part) => part.type !== 'lookahead')
  const count = end === -1 ? others.length : end
  const looks = others.slice(0, count).filter((part) => part.type === 'lookahead')
  return { looks, rest: { type: 'sequence', parts: [start, ...others.slice(count)] } }
}

/** Thompson's construction, with the pattern between two runs of any characters. Node 0 is the start, node 1 the end. */
function networkOf(regex: Regex, limit: AutomatonLimit): Move[][] {
  const nodes: Move[][] = [[], []]
  // Every node that reads a character may become a state; the others cost time.
  const most = limit.states * 20
  let size = 0
  const grow = (): void => {
    if (++size > most) throw tooLarge(`a text pattern of more than ${limit.states} states`)
  }
  const add = (): number => {
    grow()
    return nodes.push([]) - 1
  }
  const connect = (from: number, move: Move): void => {
    grow()
    nodes[from]?.push(move)
  }
  const build = (part: Regex, from: number, to: number): void => {
    switch (part.type) {
      case 'chars':
        if (!isEmptySet(part.set)) connect(from, { type: 'chars', set: part.set, to })
        return
      case 'start':
      case 'end':
        connect(from, { type: part.type, to })
        return
      case 'lookahead':
        throw unsupported('a look-ahead that is not at the beginning')
      case 'choice':
        for (const option of part.options) build(option, from, to)
        return
      case 'sequence': {
        let at = from
        for (const [index, each] of part.parts.entries()) {
          const next = index === part.parts.length - 1 ? to : add()
          build(each, at, next)
          at = next
        }
        if (part.parts.length === 0) connect(from, { type: 'free', to })
        return
      }
      case 'repeat': {
        let at = from
        for (let count = 0; count < part.min; count++) {
          const next = add()
          build(part.part, at, next)
          at = next
        }
        if (part.max === undefined) {
          const loop = add()
          connect(at, { type: 'free', to: loop })
          build(part.part, loop, loop)
          connect(loop, { type: 'free', to })
          return
        }
        for (let count = part.min; count < part.max; count++) {
          const next = add()
          connect(at, { type: 'free', to })
          build(part.part, at, next)
          at = next
        }
        connect(at, { type: 'free', to })
      }
    }
  }
  const [before, after] = [add(), add()]
  const any: Move = { type: 'chars', set: anyChar, to: before }
  connect(0, { type: 'free', to: before })
  connect(before, any)
  build(regex, before, after)
  connect(after, { type: 'chars', set: anyChar, to: after })
  connect(after, { type: 'free', to: 1 })
  limit.spend(size * effortPerNode)
  return nodes
}

/** A state is the start, or a node right after a character was read. Nodes after `$` cannot read more. */
function emptyMovesRemoved(nodes: readonly Move[][], limit: AutomatonLimit): Automaton {
  const numbers = new Map<number, number>([[0, 0]])
  const order = [0]
  const states: { accepting: boolean; edges: { set: CharSet; to: number }[] }[] = []
  for (let index = 0; index < order.length; index++) {
    const reached = reach(nodes, [order[index] ?? 0], index === 0)
    limit.spend((reached.open.size + reached.closed.size) * effortPerNode)
    const edges: { set: CharSet; to: number }[] = []
    for (const node of reached.open) {
      for (const move of nodes[node] ?? []) {
        if (move.type !== 'chars') continue
        let to = numbers.get(move.to)
        if (to === undefined) {
          to = order.push(move.to) - 1
          numbers.set(move.to, to)
          if (order.length > limit.states) throw tooLarge(`a text pattern of more than ${limit.states} states`)
        }
        edges.push({ set: move.set, to })
      }
    }
    states.push({ accepting: reached.ends, edges })
  }
  return states
}

/** A state is the set of nodes right after a character was read, as the network may be in any of them. */
function determinized(nodes: readonly Move[][], limit: AutomatonLimit): Automaton {
  return explore<readonly number[]>([0], { limit, name: (members) => members.join() }, (members) => {
    const reached = reach(nodes, members, members.length === 1 && members[0] === 0)
    limit.spend((reached.open.size + reached.closed.size) * effortPerNode)
    const edges = [...reached.open].flatMap((node) =>
      (nodes[node] ?? []).flatMap((move) => (move.type === 'chars' ? [{ set: move.set, to: move.to }] : [])),
    )
    return { accepting: reached.ends, edges: splitEdges(edges, limit) }
  })
}

/** The nodes that are reached without reading; `closed` are those after the end of the text. */
type Reached = { readonly open: ReadonlySet<number>; readonly closed: ReadonlySet<number>; readonly ends: boolean }

function reach(nodes: readonly Move[][], from: readonly number[], atStart: boolean): Reached {
  const open = new Set<number>()
  const closed = new Set<number>()
  const todo = from.map((node) => ({ node, ended: false }))
  for (let item = todo.pop(); item !== undefined; item = todo.pop()) {
    const { node, ended } = item
    const seen = ended ? closed : open
    if (seen.has(node)) continue
    seen.add(node)
    for (const move of nodes[node] ?? []) {
      if (move.type === 'free') todo.push({ node: move.to, ended })
      else if (move.type === 'end') todo.push({ node: move.to, ended: true })
      else if (move.type === 'start' && atStart) todo.push({ node: move.to, ended })
    }
  }
  return { open, closed, ends: open.has(1) || closed.has(1) }
}
