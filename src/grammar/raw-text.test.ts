import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createMatcher } from '../../test/support/gbnf-matcher.ts'
import { createGrammarBuilder } from './grammar-builder.ts'

function matcherFor(schema: object, mark: string): { matches(text: string): boolean } {
  const builder = createGrammarBuilder()
  return createMatcher(builder.build(builder.addSchema(schema, { rawUntil: mark })).grammar)
}

const letters = fc.constantFrom('a', 'b', '-', ']', '\\')
const marks = fc.array(letters, { minLength: 1, maxLength: 4 }).map((list) => list.join(''))
const texts = fc.array(letters, { maxLength: 12 }).map((list) => list.join(''))

describe('texts without quotes', () => {
  test('are exactly those without the mark', () => {
    fc.assert(
      fc.property(marks, texts, (mark, text) => {
        expect(matcherFor({ type: 'string' }, mark).matches(text)).toBe(!text.includes(mark))
      }),
    )
  })

  test('are of the length and the pattern that is asked for', () => {
    fc.assert(
      fc.property(marks, texts, (mark, text) => {
        const bounded = matcherFor({ type: 'string', minLength: 2, maxLength: 5 }, mark)
        expect(bounded.matches(text)).toBe(!text.includes(mark) && text.length >= 2 && text.length <= 5)
        const patterned = matcherFor({ type: 'string', pattern: '^(?:..)*$' }, mark)
        expect(patterned.matches(text)).toBe(!text.includes(mark) && text.length % 2 === 0)
      }),
    )
  })

  test('of great length have no beginning of the mark in them', () => {
    const matcher = matcherFor({ type: 'string', maxLength: 2000 }, '</value>')
    expect(matcher.matches('a'.repeat(2000))).toBe(true)
    expect(matcher.matches('a'.repeat(2001))).toBe(false)
    expect(matcher.matches('a < b')).toBe(false)
  })

  test.each([
    [{ enum: ['a', 'b</x>', 3] }, ['a', '3'], ['"a"', 'b</x>', 'b']],
    [{ type: ['string', 'null'], maxLength: 2 }, ['', 'ab', 'null'], ['abc', '"ab"']],
    [{ const: 'a "b"' }, ['a "b"'], ['a']],
    [{ type: 'string', format: 'date' }, ['2024-02-29'], ['2024-2-29', '"2024-02-29"']],
  ])('%j lets %j through and not %j', (schema, good, bad) => {
    const matcher = matcherFor(schema, '</x>')
    expect(good.filter((text) => !matcher.matches(text))).toEqual([])
    expect(bad.filter((text) => matcher.matches(text))).toEqual([])
  })
})
