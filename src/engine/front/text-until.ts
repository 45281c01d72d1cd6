import { spellLetter } from '../../grammar/rules/gbnf-text.ts'

export type GbnfRule = { readonly name: string; readonly body: string }

/**
 * Rules for any text up to and including the first `tag`; the first rule is the start. Each rule is a state of the automaton that
 * searches for the tag: how many of its letters the text ends with.
 */
export function textUntil(tag: string, nameOf: (state: number) => string): GbnfRule[] {
  const letters = [...tag]
  const alphabet = [...new Set(letters)]
  return letters.map((_, state) => {
    const byTarget = new Map<number, string[]>()
    for (const letter of alphabet) {
      const target = nextState(letters, state, letter)
      byTarget.set(target, [...(byTarget.get(target) ?? []), letter])
    }
    const ways = [...byTarget].flatMap(([target, set]) => {
      const step = `[${set.map(spellLetter).join('')}]`
      return target === letters.length ? [step] : [`${step} ${nameOf(target)}`]
    })
    return { name: nameOf(state), body: [...ways, `[^${alphabet.map(spellLetter).join('')}] ${nameOf(0)}`].join(' | ') }
  })
}

/** The state after one more letter. */
function nextState(tag: readonly string[], state: number, letter: string): number {
  const seen = [...tag.slice(0, state), letter]
  for (let length = seen.length; length > 0; length--) {
    if (seen.slice(-length).every((each, index) => each === tag[index])) return length
  }
  return 0
}
