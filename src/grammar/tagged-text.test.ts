import { describe, expect, test } from 'vitest'
import { createMatcher } from '../../test/support/llama/gbnf-matcher.ts'
import { createRandom } from '../../test/support/random.ts'
import { beginOf, type TextTag, taggedText } from './tagged-text.ts'

function matcherOf(tags: readonly Omit<TextTag, 'next'>[]) {
  const rules = taggedText(
    tags.map((tag) => ({ ...tag, next: `"!" ${beginOf('t')}` })),
    't',
  )
  return createMatcher([`root ::= ${beginOf('t')}`, ...rules.map(({ name, body }) => `${name} ::= ${body}`)].join('\n'))
}

describe('free text with tags', () => {
  test.each<[TextTag['position'], string, boolean]>([
    ['anywhere', '', true],
    ['anywhere', 'no tag', true],
    ['anywhere', 'a <aab', true],
    ['anywhere', 'a <aab> b', false],
    ['anywhere', 'a <aab>! b', true],
    ['anywhere', 'a <aab>!<aab>! b', true],
    ['anywhere', 'a <aab>!<aab> b', false],
    ['anywhere', '<<aab>!<<a<aab>!', true],
    ['anywhere', '<<aab>', false],
    ['anywhere', 'é😀<aab>!😀', true],
    ['line', 'a <aab> b', true],
    ['line', 'a\n<aab> b', false],
    ['line', 'a\n<aab>! b', true],
    ['line', '<aab> b', false],
    ['line', ' \n<aab> b', false],
    ['line', 'a\n<aab>!<aab>! b', true],
    ['start', 'a\n<aab> b', true],
    ['start', ' \n <aab> b', false],
    ['start', ' \n <aab>! b', true],
    ['start', '<aab>! <aab> b', false],
    ['start', '<aab>!x<aab> b', true],
  ])('%s: %j', (position, text, isRight) => {
    expect(matcherOf([{ text: '<aab>', position }]).matches(text)).toBe(isRight)
  })

  test.each<[string, boolean]>([
    ['xab!', true],
    ['xab', false],
    ['xabc', false],
    ['xab!c', true],
  ])('a tag that ends a prefix of another tag counts: %j', (text, isRight) => {
    const tags = ['ab', 'xabc'].map((tag) => ({ text: tag, position: 'anywhere' as const }))
    expect(matcherOf(tags).matches(text)).toBe(isRight)
  })

  test('generated text never has a tag without its continuation', () => {
    const matcher = matcherOf([
      { text: 'aa', position: 'anywhere' },
      { text: 'ab', position: 'line' },
    ])
    const random = createRandom(3)
    for (let round = 0; round < 200; round++) {
      const text = matcher.generate(random, 60)
      expect(text).not.toMatch(/aa(?!!)|(^\s*|\n)ab(?!!)/)
    }
  })
})
