import type { GbnfRule } from './text-until.ts'

/** A text that something else follows. */
export type TextMark = {
  readonly text: string
  /** Where it counts: anywhere, at the beginning of a line, or only where the text itself begins, behind white space. */
  readonly place: 'anywhere' | 'line' | 'start'
  /** What follows, in GBNF; it says itself where it goes on. */
  readonly next: string
}

/** The rule of the place where such a text begins. */
export const beginOf = (prefix: string): string => `${prefix}-1`

/** The rule of a place in the middle of such a text. */
export const middleOf = (prefix: string): string => `${prefix}-0`

/** A beginning of marks that a text may end in. */
type State = {
  readonly index: number
  readonly children: Map<string, State>
  /** The state for the longest end of the same text that is one as well; none for the empty one. */
  shorter: State | undefined
  /** What follows, where a whole mark is there. */
  next: string | undefined
}

/** Stands for the place where the text begins. */
const begin = ''
const spaces = [' ', '\t', '\n', '\r']
const fronts = { anywhere: [[]], line: [[begin], ['\n']], start: [[begin]] } as const

/**
 * Rules for free text, which may end anywhere, and in which each mark is followed by what belongs to it: the automaton of Aho
 * and Corasick, with a rule for each state.
 */
export function markedText(marks: readonly TextMark[], prefix: string): readonly GbnfRule[] {
  const states = createStates(marks)
  const [empty, start] = states as [State, State, ...State[]]
  const firsts = new Set(marks.filter(({ place }) => place === 'anywhere').map(({ text }) => [...text][0]))
  // White space in front of a text is not yet the text, unless a mark has it.
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
      const ways = [...byTarget].map(([target, set]) => `[${set.map(spell).join('')}] ${target}`)
      const others = letters.size === 0 ? '[^\\U00000000]' : `[^${[...letters].map(spell).join('')}]`
      return { name: nameOf(state), body: [...ways, `${others} ${nameOf(empty)}`, '""'].join(' | ') }
    })
}

/** The empty state, that of the beginning, and all others, the shorter before the longer. */
function createStates(marks: readonly TextMark[]): readonly State[] {
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
  for (const { text, place, next } of marks) {
    for (const front of fronts[place]) [...front, ...text].reduce(child, empty).next = next
  }
  const queue: State[] = [empty]
  for (const state of queue) {
    for (const [letter, longer] of state.children) {
      longer.shorter = state === empty ? empty : follow(state.shorter ?? empty, letter)
      // A mark that is only the end of what was seen counts as well.
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

/** A letter in a set of letters, in the one spelling that needs no exceptions. */
function spell(letter: string): string {
  return `\\U${(letter.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`
}
