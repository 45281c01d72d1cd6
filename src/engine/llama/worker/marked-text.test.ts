import { describe, expect, test } from 'vitest'
import { createMatcher, createRandom } from '../../../../test/support/gbnf-matcher.ts'
import { beginOf, markedText, type TextMark } from './marked-text.ts'

function matcherOf(marks: readonly Omit<TextMark, 'next'>[]) {
  const rules = markedText(
    marks.map((mark) => ({ ...mark, next: `"!" ${beginOf('t')}` })),
    't',
  )
  return createMatcher([`root ::= ${beginOf('t')}`, ...rules.map(({ name, body }) => `${name} ::= ${body}`)].join('\n'))
}

describe('free text with marks in it', () => {
  test.each<[TextMark['place'], string, boolean]>([
    ['anywhere', '', true],
    ['anywhere', 'no mark', true],
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
  ])('%s: %j', (place, text, isRight) => {
    expect(matcherOf([{ text: '<aab>', place }]).matches(text)).toBe(isRight)
  })

  test.each<[string, boolean]>([
    ['xab!', true],
    ['xab', false],
    ['xabc', false],
    ['xab!c', true],
  ])('a mark at the end of the beginning of another counts: %j', (text, isRight) => {
    const marks = ['ab', 'xabc'].map((mark) => ({ text: mark, place: 'anywhere' as const }))
    expect(matcherOf(marks).matches(text)).toBe(isRight)
  })

  test('what is written never has a mark without what follows it', () => {
    const matcher = matcherOf([
      { text: 'aa', place: 'anywhere' },
      { text: 'ab', place: 'line' },
    ])
    const random = createRandom(3)
    for (let round = 0; round < 200; round++) {
      const text = matcher.generate(random, 60)
      expect(text).not.toMatch(/aa(?!!)|(^\s*|\n)ab(?!!)/)
    }
  })
})
