import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createMatcher } from '../../../test/support/llama/gbnf-matcher.ts'
import { textUntil } from './text-until.ts'

function matcherFor(tag: string): { matches(text: string): boolean } {
  const rules = textUntil(tag, (state) => (state === 0 ? 'root' : `s-${state}`))
  return createMatcher(rules.map(({ name, body }) => `${name} ::= ${body}\n`).join(''))
}

const letters = fc.constantFrom('a', 'b', '-', ']', '\\')
const tags = fc.array(letters, { minLength: 1, maxLength: 4 }).map((list) => list.join(''))
const texts = fc.array(letters, { maxLength: 12 }).map((list) => list.join(''))

describe('textUntil', () => {
  test.each([
    { tag: '</think>', text: '</think>', matches: true },
    { tag: '</think>', text: 'I <b>think</b> so\n</think>', matches: true },
    { tag: '</think>', text: '</</think>', matches: true },
    { tag: '</think>', text: '</think', matches: false },
    { tag: '</think>', text: 'a</think>b', matches: false },
    { tag: '</think>', text: 'a</think></think>', matches: false },
    { tag: '[/THINK]', text: '[[/THINK]', matches: true },
    { tag: '◁/think▷', text: '深い◁/think▷', matches: true },
    { tag: 'aab', text: 'aaab', matches: true },
  ])('the text "$text" until "$tag": $matches', ({ tag, text, matches }) => {
    expect(matcherFor(tag).matches(text)).toBe(matches)
  })

  test('matches exactly the texts that end with their first tag', () => {
    fc.assert(
      fc.property(tags, texts, (tag, text) => {
        const first = text.indexOf(tag)
        expect(matcherFor(tag).matches(text)).toBe(first !== -1 && first + tag.length === text.length)
      }),
    )
  })
})
