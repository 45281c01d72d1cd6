import { describe, expect, test } from 'vitest'
import { regexToGbnf } from '../../test/support/compile-json-schema.ts'
import { createMatcher, createRandom } from '../../test/support/gbnf-matcher.ts'
import { checkGbnf } from './check-gbnf.ts'

describe('the grammar of a regular expression', () => {
  test.each<[string, string[], string[]]>([
    ['yes|no', ['yes', 'no'], ['yesno', 'y', 'xyes']],
    ['^\\d{3}-\\d{4}$', ['123-4567'], ['123-456', 'a123-4567']],
    ['[^"\\s]+', ['a\\b'], ['', 'a b', '"']],
    ['(a*)*b', ['b', 'aab'], ['a']],
    ['(?:a|ab)(?:c|bcd)?', ['a', 'abc', 'abcd', 'ab', 'abbcd'], ['abcdd']],
    ['\\p{Lu}\\p{Ll}*', ['Été', 'A'], ['été', '1']],
    ['.{2}', ['ab', '😀x'], ['a\n', 'abc']],
  ])('%s', (pattern, accepted, rejected) => {
    const { grammar } = regexToGbnf(pattern)
    checkGbnf(grammar)
    const matcher = createMatcher(grammar)
    expect(accepted.filter((text) => !matcher.matches(text))).toEqual([])
    expect(rejected.filter((text) => matcher.matches(text))).toEqual([])
    const random = createRandom(1)
    for (let count = 0; count < 20; count++) expect(matcher.generate(random, 20)).toMatch(new RegExp(`^(?:${pattern})$`, 'u'))
  })

  test.each(['(a)\\1', '\\bword', 'a(?=b)', '(?<!a)b'])('%s is refused', (pattern) => {
    expect(() => regexToGbnf(pattern, { param: 'regex' })).toThrow(
      expect.objectContaining({ kind: 'unsupported-regex', param: 'regex' }),
    )
  })
})
