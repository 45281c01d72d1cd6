import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createMatcher } from '../../../test/support/llama/gbnf-matcher.ts'
import { createGrammarBuilder } from '../grammar-builder.ts'

function matcherFor(schema: object, delimiter: string): { matches(text: string): boolean } {
  const builder = createGrammarBuilder()
  return createMatcher(builder.build(builder.addSchema(schema, { rawUntil: delimiter })).grammar)
}

const letters = fc.constantFrom('a', 'b', '-', ']', '\\')
const delimiters = fc.array(letters, { minLength: 1, maxLength: 4 }).map((list) => list.join(''))
const texts = fc.array(letters, { maxLength: 12 }).map((list) => list.join(''))

describe('raw strings', () => {
  test('raw strings are exactly those without the delimiter', () => {
    fc.assert(
      fc.property(delimiters, texts, (delimiter, text) => {
        expect(matcherFor({ type: 'string' }, delimiter).matches(text)).toBe(!text.includes(delimiter))
      }),
    )
  })

  test('raw strings have the required length and pattern', () => {
    fc.assert(
      fc.property(delimiters, texts, (delimiter, text) => {
        const bounded = matcherFor({ type: 'string', minLength: 2, maxLength: 5 }, delimiter)
        expect(bounded.matches(text)).toBe(!text.includes(delimiter) && text.length >= 2 && text.length <= 5)
        const patterned = matcherFor({ type: 'string', pattern: '^(?:..)*$' }, delimiter)
        expect(patterned.matches(text)).toBe(!text.includes(delimiter) && text.length % 2 === 0)
      }),
    )
  })

  test('raw strings of great length do not contain the first character of the delimiter', () => {
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
  ])('%j accepts %j and not %j', (schema, good, bad) => {
    const matcher = matcherFor(schema, '</x>')
    expect(good.filter((text) => !matcher.matches(text))).toEqual([])
    expect(bad.filter((text) => matcher.matches(text))).toEqual([])
  })
})
