import type { GbnfRule } from './grammar-builder.ts'
import { spellLetter } from './rules/gbnf-text.ts'

/** A tag with a required continuation. */
export type TextTag = {
  readonly text: string
  /** Where the tag counts: anywhere, at the start of a line, or only at the start of the text, after white space. */
  readonly position: 'anywhere' | 'line' | 'start'
  /** The continuation, in GBNF, up to the end of the text. */
  readonly next: string
}

/** The rule for the start of such a text. */
export const beginOf = (prefix: string): string => `${prefix}-1`

/** The rule for the middle of such a text. */
export const middleOf = (prefix: string): string => `${prefix}-0`

/** A prefix of tags that the text so far may end with. */
type State = {
  readonly index: number
  readonly children: Map<string, State>
  /** The state of the longest proper suffix that is also a prefix of a tag; none for the empty state. */
  shorter: State | undefined
  /** The continuation, if the text ends with a complete tag. */
  next: string | undefined
}

/** The start of the text, as a letter. */
const begin = ''
const spaces = [' ', '\t', '\n', '\r']
const fronts = { anywhere: [[]], line: [[begin], ['\n']], start: [[begin]] } as const

/**
 * Rules for free text that may end anywhere, and in which each tag is followed by its continuation: the Aho-Corasick automaton, with a rule
 * for each state.
 */
export function taggedText(tags: readonly TextTag[], prefix: string): readonly GbnfRule[] {
  const states = createStates(tags)
  const [empty, start] = states as [State, State, ...State[]]
  const firsts = new Set(tags.filter(({ position }) => position === 'anywhere').map(({ text }) => [...text][0]))
  // Leading white space keeps the state of the start, unless a tag begins with it.
  const lead = spaces.filter((letter) => !firsts.has(letter) && !start.children.has(letter))
  const nameOf = ({ index }: State) => `${prefix}-${index}`
  return states
    .filter(({ next }) => next === undefined)
    .map((state) => {
      const byTarget = new Map<string, string[]>()
      const letters = new Set([...lettersOf(state), ...(state === start ? lead : [])])
      for (const letter of letters) {
        const to = state === start && lead.includes(letter) ? start : follow(state, letter)
        const target = to.next ?? nameOf(to)
        byTarget.set(target, [...(byTarget.get(target) ?? []), letter])
      }
      const ways = [...byTarget].map(([target, set]) => `[${set.map(spellLetter).join('')}] ${target}`)
      const others = letters.size === 0 ? '[^\\U00000000]' : `[^${[...letters].map(spellLetter).join('')}]`
      return { name: nameOf(state), body: [...ways, `${others} ${nameOf(empty)}`, '""'].join(' | ') }
    })
}

/** The empty state, the state of the start, and all others. */
function createStates(tags: readonly TextTag[]): readonly State[] {
  const states: State[] = []
  const add = (): State => {
    const state = { index: states.length, children: new Map(), shorter: undefined, next: undefined }
    states.push(state)
    return state
  }
  const child = (state: State, letter: string): State => {
    const known = state.children.get(letter) ?? add()
    state.children.set(letter, known)
    return known
  }
  const empty = add()
  child(empty, begin)
  for (const { text, position, next } of tags) {
    for (const front of fronts[position]) [...front, ...text].reduce(child, empty).next = next
  }
  const queue: State[] = [empty]
  for (const state of queue) {
    for (const [letter, longer] of state.children) {
      longer.shorter = state === empty ? empty : follow(state.shorter ?? empty, letter)
      // A tag may also be a suffix of a longer prefix.
      longer.next ??= longer.shorter.next
      queue.push(longer)
    }
  }
  return states
}

function follow(state: State, letter: string): State {
  for (let from: State | undefined = state; from !== undefined; from = from.shorter) {
    const found = from.children.get(letter)
    if (found !== undefined) return found
    if (from.shorter === undefined) return from
  }
  return state
}

/** The letters that do not lead back to the empty state. */
function lettersOf(state: State): readonly string[] {
  const own = [...state.children.keys()].filter((letter) => letter !== begin)
  return state.shorter === undefined ? own : [...own, ...lettersOf(state.shorter)]
}
