import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createMatcher } from '../../../../test/support/gbnf-matcher.ts'
import { textUntil } from './text-until.ts'

function matcherFor(mark: string): { matches(text: string): boolean } {
  const rules = textUntil(mark, (state) => (state === 0 ? 'root' : `s-${state}`))
  return createMatcher(rules.map(({ name, body }) => `${name} ::= ${body}\n`).join(''))
}

const letters = fc.constantFrom('a', 'b', '-', ']', '\\')
const marks = fc.array(letters, { minLength: 1, maxLength: 4 }).map((list) => list.join(''))
const texts = fc.array(letters, { maxLength: 12 }).map((list) => list.join(''))

describe('textUntil', () => {
  test.each([
    { mark: '</think>', text: '</think>', matches: true },
    { mark: '</think>', text: 'I <b>think</b> so\n</think>', matches: true },
    { mark: '</think>', text: '</</think>', matches: true },
    { mark: '</think>', text: '</think', matches: false },
    { mark: '</think>', text: 'a</think>b', matches: false },
    { mark: '</think>', text: 'a</think></think>', matches: false },
    { mark: '[/THINK]', text: '[[/THINK]', matches: true },
    { mark: '◁/think▷', text: '深い◁/think▷', matches: true },
    { mark: 'aab', text: 'aaab', matches: true },
  ])('the text "$text" until "$mark": $matches', ({ mark, text, matches }) => {
    expect(matcherFor(mark).matches(text)).toBe(matches)
  })

  test('is exactly the texts with the first mark at their end', () => {
    fc.assert(
      fc.property(marks, texts, (mark, text) => {
        const first = text.indexOf(mark)
        expect(matcherFor(mark).matches(text)).toBe(first !== -1 && first + mark.length === text.length)
      }),
    )
  })
})
