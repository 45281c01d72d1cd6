import { type CharSet, hasChar } from '../../../src/grammar/rules/char-set.ts'
import type { Expression } from '../../../src/grammar/rules/expression.ts'
import { parseGbnf } from '../../../src/grammar/rules/gbnf-syntax.ts'

type Element = { readonly set: CharSet } | { readonly rule: number }
type Way = readonly Element[]

/** What is still to come: an element of a way, then the rest. Equal ones are the same object. */
type Rest = { readonly way: Way; readonly at: number; readonly next: Rest | undefined; readonly id: number }

/** A grammar that can be asked: interpreted as llama.cpp does, with all possible stacks side by side. */
export type GbnfMatcher = {
  /** Whether the whole text is one of the grammar's. */
  matches(text: string): boolean
  /** A text of the grammar, chosen by `random`; it heads for its end once it is about `length` long. */
  generate(random: () => number, length?: number): string
}

export function createMatcher(grammar: string): GbnfMatcher {
  const rules = writeOut(parseGbnf(grammar))
  const root = rules.names.get('root')
  if (root === undefined) throw new Error('no root')
  return {
    matches: (text) => matches(rules.ways, root, text),
    generate: (random, length = 400) => generate(rules.ways, root, { random, length }),
  }
}

/** Groups and repetitions become rules of their own. */
function writeOut(source: ReadonlyMap<string, Expression>): { names: Map<string, number>; ways: Way[][] } {
  const ways: Way[][] = []
  const names = new Map([...source.keys()].map((name) => [name, ways.push([]) - 1]))
  for (const [name, body] of source) ways[names.get(name) ?? 0] = alternatives(body)
  return { names, ways }

  function alternatives(body: Expression): Way[] {
    return body.type === 'choice' ? body.options.flatMap(alternatives) : [elements(body)]
  }

  function elements(body: Expression): Way {
    switch (body.type) {
      case 'literal':
        return [...body.text].map((char) => {
          const code = char.codePointAt(0) ?? 0
          return { set: [[code, code]] }
        })
      case 'chars':
        return [{ set: body.set }]
      case 'rule': {
        const rule = names.get(body.name)
        if (rule === undefined) throw new Error(`undefined rule ${body.name}`)
        return [{ rule }]
      }
      case 'sequence':
        return body.parts.flatMap(elements)
      case 'choice':
        return [{ rule: ways.push(alternatives(body)) - 1 }]
      case 'repeat': {
        const part = body.part.type === 'choice' ? elements(body.part) : [...elements(body.part)]
        const fixed = Array.from({ length: body.min }, () => part).flat()
        if (body.max === undefined) {
          const rule = ways.push([]) - 1
          ways[rule] = [[...part, { rule }], []]
          return [...fixed, { rule }]
        }
        let last: Element[] = []
        for (let count = body.min; count < body.max; count++) last = [{ rule: ways.push([[...part, ...last], []]) - 1 }]
        return [...fixed, ...last]
      }
    }
  }
}

function matches(rules: readonly Way[][], root: number, text: string): boolean {
  const wayIds = new Map<Way, number>()
  const known = new Map<string, Rest>()
  const rest = (way: Way, at: number, next: Rest | undefined): Rest | undefined => {
    if (at >= way.length) return next
    const wayId = wayIds.get(way) ?? wayIds.size
    wayIds.set(way, wayId)
    const key = `${wayId} ${at} ${next?.id ?? ''}`
    const found = known.get(key) ?? { way, at, next, id: known.size + 1 }
    known.set(key, found)
    return found
  }
  /** The stacks that begin with a character; `undefined` among them is the end of the text. */
  const advance = (starts: readonly (Rest | undefined)[]): Set<Rest | undefined> => {
    const seen = new Set<Rest | undefined>()
    const ready = new Set<Rest | undefined>()
    const todo = [...starts]
    while (todo.length > 0) {
      const item = todo.pop()
      if (seen.has(item)) continue
      seen.add(item)
      if (seen.size > 200_000) throw new Error('too many ways to read the text')
      const element = item?.way[item.at]
      if (item === undefined || element === undefined || 'set' in element) ready.add(item)
      else for (const way of rules[element.rule] ?? []) todo.push(rest(way, 0, rest(item.way, item.at + 1, item.next)))
    }
    return ready
  }
  let stacks = advance((rules[root] ?? []).map((way) => rest(way, 0, undefined)))
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0
    const next: (Rest | undefined)[] = []
    for (const item of stacks) {
      const element = item?.way[item.at]
      if (item !== undefined && element !== undefined && 'set' in element && hasChar(element.set, code)) {
        next.push(rest(item.way, item.at + 1, item.next))
      }
    }
    if (next.length === 0) return false
    stacks = advance(next)
  }
  return stacks.has(undefined)
}

type GenerateOptions = { readonly random: () => number; readonly length: number }

function generate(rules: readonly Way[][], root: number, { random, length }: GenerateOptions): string {
  const costs = shortest(rules)
  const costOf = (way: Way): number => way.reduce((sum, each) => sum + ('set' in each ? 1 : (costs[each.rule] ?? Infinity)), 0)
  const stack: Element[] = [{ rule: root }]
  let text = ''
  for (let element = stack.pop(); element !== undefined; element = stack.pop()) {
    if ('set' in element) {
      text += pickChar(element.set, random)
      continue
    }
    const ways = (rules[element.rule] ?? []).filter((way) => Number.isFinite(costOf(way)))
    const isLate = text.length + stack.length > length
    const least = Math.min(...ways.map(costOf))
    const candidates = isLate ? ways.filter((way) => costOf(way) === least) : ways
    const way = candidates[Math.floor(random() * candidates.length)]
    if (way === undefined) throw new Error('a rule without a text')
    stack.push(...[...way].reverse())
  }
  return text
}

/** The length of the shortest text of each rule. */
function shortest(rules: readonly Way[][]): number[] {
  const costs = rules.map(() => Number.POSITIVE_INFINITY)
  for (let isChanged = true; isChanged; ) {
    isChanged = false
    for (let index = rules.length - 1; index >= 0; index--) {
      for (const way of rules[index] ?? []) {
        const cost = way.reduce((sum, each) => sum + ('set' in each ? 1 : (costs[each.rule] ?? 0)), 0)
        if (cost < (costs[index] ?? 0)) {
          costs[index] = cost
          isChanged = true
        }
      }
    }
  }
  return costs
}

/** Mostly printable ASCII, where there is some. */
function pickChar(set: CharSet, random: () => number): string {
  const plain = set.flatMap(([first, last]): [number, number][] => {
    const [from, to] = [Math.max(first, 0x20), Math.min(last, 0x7e)]
    return from <= to ? [[from, to]] : []
  })
  const ranges = plain.length > 0 && random() < 0.9 ? plain : set
  const [first, last] = ranges[Math.floor(random() * ranges.length)] ?? [0x3f, 0x3f]
  return String.fromCodePoint(first + Math.floor(random() * (last - first + 1)))
}
