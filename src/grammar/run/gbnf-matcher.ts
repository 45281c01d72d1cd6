import { checkGbnf } from '../rules/check-gbnf.ts'
import { GrammarMachine } from './machine.ts'
import { compileProgram } from './program.ts'
import type { TextMatcher } from './text-matcher.ts'

/** Some seconds of work: callers have a deadline of their own. */
const maxEffort = 500_000_000

/** Tells whether a grammar allows a text. Throws for an unusable grammar; the matcher throws for too much work. */
export function createGbnfMatcher(gbnf: string): TextMatcher {
  checkGbnf(gbnf)
  const program = compileProgram(gbnf)
  let machine = new GrammarMachine(program)
  return (text) => {
    const meter = { left: maxEffort }
    let state = machine.start(meter)
    for (const char of text) {
      if (machine.isFull) {
        machine = new GrammarMachine(program)
        state = machine.adopt(state, meter)
      }
      const next = machine.step(state, char.codePointAt(0) ?? 0, meter)
      if (next === undefined) return false
      state = next
    }
    return state.isComplete
  }
}
