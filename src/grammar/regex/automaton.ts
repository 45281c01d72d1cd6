import { anyChar, type CharSet, charSet, intersect, isEmptySet, subtract, unite } from '../rules/char-set.ts'
import { tooLarge } from '../rules/grammar-error.ts'
import type { AutomatonLimit } from '../rules/limits.ts'

type Edge = { readonly set: CharSet; readonly to: number }
type State = { readonly accepting: boolean; readonly edges: readonly Edge[] }

/**
 * A set of texts as a finite automaton over code points, without empty moves; state 0 is the start. It may be nondeterministic.
 * Every function that makes one throws `grammar-too-large` past `limit`.
 */
export type Automaton = readonly State[]

const effortPerEdge = 0.2

export const anyText: Automaton = [{ accepting: true, edges: [{ set: anyChar, to: 0 }] }]

/** The texts whose length in code points, as JSON Schema counts, is within the bounds. */
export function textsOfLength(min: number, max: number | undefined, limit: AutomatonLimit): Automaton {
  const last = max ?? min
  if (last + 1 > limit.states) throw tooLarge(`a text pattern of more than ${limit.states} states`)
  const states: State[] = []
  for (let length = 0; length < last; length++) {
    states.push({ accepting: length >= min, edges: [{ set: anyChar, to: length + 1 }] })
  }
  states.push({ accepting: last >= min, edges: max === undefined ? [{ set: anyChar, to: last }] : [] })
  return states
}

/** Exactly these texts; deterministic. */
export function textsAmong(texts: readonly string[], limit: AutomatonLimit): Automaton {
  const states: { accepting: boolean; edges: Edge[]; next: Map<string, number> }[] = [newState()]
  for (const text of texts) {
    let at = 0
    for (const char of text) {
      let to = states[at]?.next.get(char)
      if (to === undefined) {
        to = states.push(newState()) - 1
        const code = char.codePointAt(0) ?? 0
        states[at]?.next.set(char, to)
        states[at]?.edges.push({ set: charSet([code, code]), to })
      }
      at = to
    }
    const end = states[at]
    if (end !== undefined) end.accepting = true
    if (states.length > limit.states) throw tooLarge(`a text pattern of more than ${limit.states} states`)
  }
  return states.map(({ accepting, edges }) => ({ accepting, edges }))
}

function newState(): { accepting: boolean; edges: Edge[]; next: Map<string, number> } {
  return { accepting: false, edges: [], next: new Map() }
}

/** The intersection. */
export function both(left: Automaton, right: Automaton, limit: AutomatonLimit): Automaton {
  if (left === anyText) return right
  if (right === anyText) return left
  const name = ([l, r]: readonly [number, number]): number => l * right.length + r
  return explore<readonly [number, number]>([0, 0], { limit, name }, ([l, r]) => {
    const a = left[l]
    const b = right[r]
    limit.spend((a?.edges.length ?? 0) * (b?.edges.length ?? 0) * effortPerEdge)
    const edges: { set: CharSet; to: readonly [number, number] }[] = []
    for (const one of a?.edges ?? []) {
      for (const two of b?.edges ?? []) {
        const set = intersect(one.set, two.set)
        if (!isEmptySet(set)) edges.push({ set, to: [one.to, two.to] })
      }
    }
    return { accepting: a?.accepting === true && b?.accepting === true, edges }
  })
}

/** The complement. */
export function except(automaton: Automaton, limit: AutomatonLimit): Automaton {
  const sure = determinize(automaton, limit)
  const sink = sure.length
  const states = sure.map(({ accepting, edges }) => {
    const rest = subtract(anyChar, unite(...edges.map((edge) => edge.set)))
    return { accepting: !accepting, edges: isEmptySet(rest) ? edges : [...edges, { set: rest, to: sink }] }
  })
  return trim([...states, { accepting: true, edges: [{ set: anyChar, to: sink }] }])
}

/** The same texts, deterministic: an engine that follows it keeps one state. */
export function determinize(automaton: Automaton, limit: AutomatonLimit): Automaton {
  return explore<readonly number[]>([0], { limit, name: (members) => members.join() }, (members) => {
    limit.spend(members.reduce((sum, member) => sum + (automaton[member]?.edges.length ?? 0), 0) * effortPerEdge)
    const edges = members.flatMap((member) => automaton[member]?.edges ?? [])
    return {
      accepting: members.some((member) => automaton[member]?.accepting === true),
      edges: splitEdges(edges, limit),
    }
  })
}

/** The same texts without dead states. An automaton without texts has one state. */
export function trim(automaton: Automaton): Automaton {
  const users = automaton.map((): number[] => [])
  for (const [from, { edges }] of automaton.entries()) for (const { to } of edges) users[to]?.push(from)
  const useful = new Set<number>()
  const todo = automaton.flatMap(({ accepting }, index) => (accepting ? [index] : []))
  for (let state = todo.pop(); state !== undefined; state = todo.pop()) {
    if (useful.has(state)) continue
    useful.add(state)
    todo.push(...(users[state] ?? []))
  }
  return explore<number>(0, { limit: unlimited, name: (index) => index }, (index) => {
    const state = automaton[index]
    return {
      accepting: state?.accepting === true,
      edges: (state?.edges ?? []).filter(({ to }) => useful.has(to)),
    }
  })
}

/** For results that are not larger than a limited automaton. */
const unlimited: AutomatonLimit = { states: Number.POSITIVE_INFINITY, spend: () => undefined }

/** Whether it accepts no text. The automaton must be trimmed. */
export function hasNoText(automaton: Automaton): boolean {
  return automaton.every(({ accepting }) => !accepting)
}

/** Whether each character leads from a state to one other at most. */
export function isDeterministic(automaton: Automaton): boolean {
  return automaton.every(({ edges }) => {
    const sum = edges.reduce((count, { set }) => count + sizeOf(set), 0)
    return edges.length < 2 || sum === sizeOf(unite(...edges.map(({ set }) => set)))
  })
}

function sizeOf(set: CharSet): number {
  return set.reduce((sum, [first, last]) => sum + last - first + 1, 0)
}

/** The lengths of the shortest and the longest text; `max` is absent without a longest. The automaton must be trimmed. */
export function lengthsOf(automaton: Automaton): { readonly min: number; readonly max?: number } {
  let min = 0
  let level = new Set([0])
  const seen = new Set(level)
  while (level.size > 0 && ![...level].some((state) => automaton[state]?.accepting === true)) {
    level = new Set(
      [...level].flatMap((state) => (automaton[state]?.edges ?? []).map(({ to }) => to)).filter((to) => !seen.has(to)),
    )
    for (const state of level) seen.add(state)
    min++
  }
  const max = longest(automaton)
  return max === undefined ? { min } : { min, max }
}

/** Longer texts count as endless, at the cost of a length check that may be unnecessary. */
const maxExactLength = 301

/** Visits a state after all its predecessors. If some are never visited, there is a cycle, and no longest text. */
function longest(automaton: Automaton): number | undefined {
  const inDegree = automaton.map(() => 0)
  for (const { edges } of automaton) for (const { to } of edges) inDegree[to] = (inDegree[to] ?? 0) + 1
  const lengths = automaton.map(() => 0)
  const todo = inDegree[0] === 0 ? [0] : []
  let met = 0
  for (let index = todo.pop(); index !== undefined; index = todo.pop()) {
    met++
    const length = (lengths[index] ?? 0) + 1
    for (const { to } of automaton[index]?.edges ?? []) {
      lengths[to] = Math.max(lengths[to] ?? 0, length)
      inDegree[to] = (inDegree[to] ?? 0) - 1
      if (inDegree[to] === 0) todo.push(to)
    }
  }
  const most = lengths.reduce((max, length) => Math.max(max, length), 0)
  return met < automaton.length || most > maxExactLength ? undefined : most
}

/** Builds the automaton that `visit` describes, from its start on; states of the same name are one. */
export function explore<Key>(
  start: Key,
  { limit, name }: { limit: AutomatonLimit; name: (key: Key) => string | number },
  visit: (key: Key) => { accepting: boolean; edges: readonly { set: CharSet; to: Key }[] },
): Automaton {
  const numbers = new Map<string | number, number>([[name(start), 0]])
  const keys: Key[] = [start]
  const states: State[] = []
  for (let index = 0; index < keys.length; index++) {
    const found = visit(keys[index] as Key)
    limit.spend(found.edges.length * effortPerEdge)
    const targets = new Map<number, CharSet>()
    for (const { set, to } of found.edges) {
      const text = name(to)
      let number = numbers.get(text)
      if (number === undefined) {
        number = keys.push(to) - 1
        numbers.set(text, number)
        if (keys.length > limit.states) throw tooLarge(`a text pattern of more than ${limit.states} states`)
      }
      const known = targets.get(number)
      targets.set(number, known === undefined ? set : unite(known, set))
    }
    states.push({ accepting: found.accepting, edges: [...targets].map(([to, set]) => ({ set, to })) })
  }
  return states
}

/** Splits overlapping edges into disjoint ones, each leading to the set of all states that its characters lead to. */
export function splitEdges(edges: readonly Edge[], limit: AutomatonLimit): { set: CharSet; to: readonly number[] }[] {
  if (edges.length === 1) return edges.map(({ set, to }) => ({ set, to: [to] }))
  const starts = new Map<number, number[]>()
  const ends = new Map<number, number[]>()
  for (const { set, to } of edges) {
    for (const [first, last] of set) {
      push(starts, first, to)
      push(ends, last + 1, to)
    }
  }
  const borders = [...new Set([...starts.keys(), ...ends.keys()])].sort((a, b) => a - b)
  const active = new Map<number, number>()
  const byTarget = new Map<string, { ranges: [number, number][]; to: number[] }>()
  for (const [index, border] of borders.entries()) {
    for (const to of ends.get(border) ?? []) active.set(to, (active.get(to) ?? 0) - 1)
    for (const to of starts.get(border) ?? []) active.set(to, (active.get(to) ?? 0) + 1)
    limit.spend(active.size * effortPerEdge)
    const to = [...active].flatMap(([state, count]) => (count > 0 ? [state] : [])).sort((a, b) => a - b)
    const next = borders[index + 1]
    if (to.length === 0 || next === undefined) continue
    const key = to.join()
    const entry = byTarget.get(key) ?? { ranges: [], to }
    entry.ranges.push([border, next - 1])
    byTarget.set(key, entry)
  }
  return [...byTarget.values()].map(({ ranges, to }) => ({ set: charSet(...ranges), to }))
}

function push(map: Map<number, number[]>, key: number, value: number): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else list.push(value)
}
