import type { Automaton } from '../regex/automaton.ts'
import { regexAutomaton } from '../regex/regex-automaton.ts'
import { hasChar } from '../rules/char-set.ts'
import { isUnsupported, tooLarge } from '../rules/grammar-error.ts'
import { defaultLimits } from '../rules/limits.ts'

/** Tells whether a pattern is found in a text, in time linear in the text. */
export type TextMatcher = (text: string) => boolean

/** The states that an automaton may be in, and where characters lead from there. */
type Situation = { readonly states: readonly number[]; readonly accepting: boolean; readonly moves: Map<number, Situation> }

const maxEffort = 300_000
/** Situations are made at their first use; a pattern with more of them forgets them. */
const maxSituations = 5000

/** Undefined for a pattern that an automaton cannot express, or only a very large one. Throws when it is not a pattern. */
export function createTextMatcher(source: string): TextMatcher | undefined {
  const automaton = automatonOf(source)
  return automaton === undefined ? undefined : matcherOf(automaton)
}

function automatonOf(source: string): Automaton | undefined {
  let effort = 0
  const spend = (more: number) => {
    effort += more
    if (effort > maxEffort) throw tooLarge('too much work for a pattern')
  }
  try {
    return regexAutomaton(source, { states: defaultLimits.automatonStates, spend })
  } catch (error) {
    if (isUnsupported(error)) return undefined
    throw error
  }
}

function matcherOf(automaton: Automaton): TextMatcher {
  const known = new Map<string, Situation>()
  const situationOf = (states: readonly number[]): Situation => {
    const key = states.join()
    const found = known.get(key)
    if (found !== undefined) return found
    if (known.size >= maxSituations) known.clear()
    const made = { states, accepting: states.some((state) => automaton[state]?.accepting === true), moves: new Map() }
    known.set(key, made)
    return made
  }
  const follow = ({ states }: Situation, code: number): Situation => {
    const next = new Set<number>()
    for (const state of states) {
      for (const { set, to } of automaton[state]?.edges ?? []) if (!next.has(to) && hasChar(set, code)) next.add(to)
    }
    return situationOf([...next].sort((a, b) => a - b))
  }
  return (text) => {
    let at = situationOf([0])
    for (const char of text) {
      const code = char.codePointAt(0) ?? 0
      const next = at.moves.get(code) ?? follow(at, code)
      at.moves.set(code, next)
      at = next
    }
    return at.accepting
  }
}
