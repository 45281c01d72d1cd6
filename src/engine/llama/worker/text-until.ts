/** A rule of a grammar: its name, and its body in GBNF. */
export type GbnfRule = { readonly name: string; readonly body: string }

/**
 * Rules for "any text that ends with the first `mark` in it", the mark included; the first rule is where it begins. Each is
 * a state of the automaton that finds the mark: how much of it the text ends in.
 */
export function textUntil(mark: string, nameOf: (state: number) => string): GbnfRule[] {
  const letters = [...mark]
  const alphabet = [...new Set(letters)]
  return letters.map((_, state) => {
    const byTarget = new Map<number, string[]>()
    for (const letter of alphabet) {
      const target = nextState(letters, state, letter)
      byTarget.set(target, [...(byTarget.get(target) ?? []), letter])
    }
    const ways = [...byTarget].flatMap(([target, set]) => {
      const step = `[${set.map(spell).join('')}]`
      return target === letters.length ? [step] : [`${step} ${nameOf(target)}`]
    })
    return { name: nameOf(state), body: [...ways, `[^${alphabet.map(spell).join('')}] ${nameOf(0)}`].join(' | ') }
  })
}

/** How much of the mark a text ends in that ended in `state` letters of it, and got one more. */
function nextState(mark: readonly string[], state: number, letter: string): number {
  const seen = [...mark.slice(0, state), letter]
  for (let length = seen.length; length > 0; length--) {
    if (seen.slice(-length).every((each, index) => each === mark[index])) return length
  }
  return 0
}

/** A letter in a set of letters, in the one spelling that needs no exceptions. */
function spell(letter: string): string {
  return `\\U${(letter.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`
}
