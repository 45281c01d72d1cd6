import { describe, expect, test } from 'vitest'
import { createRandom } from '../../../test/support/random.ts'
import { createTextMatcher } from './text-matcher.ts'

const patterns = ['a+b', '^a*$', '(a|b)*c$', 'a{2,3}', '^(?!ab)[ab]+$', '[^b]c', '^$', 'é|日', '(a?){5}b', '.c', '^(a+)+$']

describe('createTextMatcher', () => {
  test.each(patterns)('%s is found where JavaScript finds it', (pattern) => {
    const matches = createTextMatcher(pattern)
    const random = createRandom(3)
    const letters = ['a', 'b', 'c', 'é', '日', '\n', '😀']
    for (let count = 0; count < 300; count++) {
      const text = Array.from({ length: Math.floor(random() * 8) }, () => letters[Math.floor(random() * letters.length)]).join('')
      expect(matches?.(text), JSON.stringify(text)).toBe(new RegExp(pattern, 'u').test(text))
    }
  })

  test.each(['^(a+)+$', '^(a|a)*$', '^(a*)*b$', '(.*,){20}x'])('%s does not backtrack', (pattern) => {
    expect(createTextMatcher(pattern)?.(`${'a,'.repeat(20_000)}!`)).toBe(false)
  })

  test.each(['(a)\\1', '(?<=a)b', '\\bword', '(a{1000}){1000}'])('%s has no automaton', (pattern) => {
    expect(createTextMatcher(pattern)).toBeUndefined()
  })

  test('what is not a pattern is refused', () => {
    expect(() => createTextMatcher('(')).toThrow(expect.objectContaining({ kind: 'invalid-regex' }))
  })
})
