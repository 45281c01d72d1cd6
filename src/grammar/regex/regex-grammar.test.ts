import { describe, expect, test } from 'vitest'
import { regexToGbnf } from '../../../test/support/llama/compile-json-schema.ts'
import { createMatcher } from '../../../test/support/llama/gbnf-matcher.ts'
import { createRandom } from '../../../test/support/random.ts'
import { checkGbnf } from '../rules/check-gbnf.ts'
import { GrammarMachine, type MachineState } from '../run/machine.ts'
import { compileProgram } from '../run/program.ts'

describe('the grammar of a regular expression', () => {
  test.each<[string, string[], string[]]>([
    ['yes|no', ['yes', 'no'], ['yesno', 'y', 'xyes']],
    ['^\\d{3}-\\d{4}$', ['123-4567'], ['123-456', 'a123-4567']],
    ['[^"\\s]+', ['a\\b'], ['', 'a b', '"']],
    ['(a*)*b', ['b', 'aab'], ['a']],
    ['(?:a|ab)(?:c|bcd)?', ['a', 'abc', 'abcd', 'ab', 'abbcd'], ['abcdd']],
    ['\\p{Lu}\\p{Ll}*', ['Été', 'A'], ['été', '1']],
    ['.{2}', ['ab', '😀x'], ['a\n', 'abc']],
  ])('the grammar of %s matches the same texts', (pattern, accepted, rejected) => {
    const { grammar } = regexToGbnf(pattern)
    checkGbnf(grammar)
    const matcher = createMatcher(grammar)
    expect(accepted.filter((text) => !matcher.matches(text))).toEqual([])
    expect(rejected.filter((text) => matcher.matches(text))).toEqual([])
    const random = createRandom(1)
    for (let count = 0; count < 20; count++) expect(matcher.generate(random, 20)).toMatch(new RegExp(`^(?:${pattern})$`, 'u'))
  })

  test.each(['\u0000', '\\0', 'a\\x00b', '[\\0]+'])('%j, which no token has, is refused', (pattern) => {
    const error = { kind: 'invalid-regex', param: 'regex' }
    expect(() => regexToGbnf(pattern, { param: 'regex' })).toThrow(expect.objectContaining(error))
    expect(createMatcher(regexToGbnf(`(${pattern}|b)?`).grammar).matches('b')).toBe(true)
  })

  test.each(['(a)\\1', '\\bword', 'a(?=b)', '(?<!a)b'])('%s is refused', (pattern) => {
    expect(() => regexToGbnf(pattern, { param: 'regex' })).toThrow(
      expect.objectContaining({ kind: 'unsupported-regex', param: 'regex' }),
    )
  })

  test.each(['(\\w+\\s?)+', '(a?){300}a{300}', '.*.*.*', '(a|b|ab)*c', '(x+x+)+y', '(?:a|ab)(?:c|bcd)?'])(
    '%s leaves one way to read a text, or two where it may end',
    (pattern) => {
      const { grammar } = regexToGbnf(pattern)
      const [machine, matcher, random] = [new GrammarMachine(compileProgram(grammar)), createMatcher(grammar), createRandom(2)]
      for (let count = 0; count < 5; count++) {
        let state: MachineState | undefined = machine.start({ left: 1_000_000 })
        for (const char of matcher.generate(random, 20)) {
          state = state && machine.step(state, char.codePointAt(0) ?? 0, { left: 1_000_000 })
          expect(countOf(state, machine)).toBeLessThan(2)
        }
      }
    },
  )
})

/** The most ways that one character can be read. */
function countOf(state: MachineState | undefined, machine: GrammarMachine): number {
  if (state === undefined) return Number.POSITIVE_INFINITY
  machine.step(state, 0x61, { left: 1_000_000 })
  return Math.max(0, ...(state.moves?.groups ?? []).map(({ ways }) => ways.length))
}
