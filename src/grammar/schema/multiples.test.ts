import { describe, expect, test } from 'vitest'
import { compileJsonSchema } from '../../../test/support/llama/compile-json-schema.ts'
import { createMatcher } from '../../../test/support/llama/gbnf-matcher.ts'
import { createRandom } from '../../../test/support/random.ts'

describe('multiples', () => {
  test.each<[object, 'full' | 'partial', string[], string[]]>([
    [{ type: 'integer', multipleOf: 3 }, 'full', ['0', '3', '-9', '12', '100002'], ['1', '-1', '100001', '03', '-0']],
    [{ type: 'integer', multipleOf: 7, minimum: 15 }, 'full', ['21', '98', '105', '7000'], ['14', '7', '22', '-21']],
    [{ type: 'integer', multipleOf: 5, exclusiveMinimum: 0, maximum: 20 }, 'full', ['5', '20'], ['0', '25', '1']],
    [{ type: 'integer', multipleOf: 2, maximum: -3 }, 'full', ['-4', '-6', '-100'], ['-2', '0', '4', '-5']],
    [{ type: 'integer', multipleOf: 1000, minimum: 0, maximum: 100_000 }, 'full', ['0', '99000'], ['500', '101000']],
    [{ type: 'number', multipleOf: 0.5 }, 'full', ['0', '1.5', '-3', '12345.5'], ['0.25', '1.55', '.5']],
    [{ type: 'number', multipleOf: 1.5, minimum: -3, maximum: 3 }, 'full', ['-3', '-1.5', '0', '1.5', '3'], ['1', '2', '4.5']],
    [{ type: 'number', multipleOf: 0.01, minimum: 0 }, 'partial', ['4.35', '0.01', '7.1'], ['4.355', '-1']],
    [{ allOf: [{ multipleOf: 4 }, { multipleOf: 6 }], type: 'integer' }, 'full', ['12', '24'], ['4', '6', '8']],
    [{ type: 'integer', multipleOf: 123_457 }, 'partial', ['123457'], []],
  ])('the grammar of %j allows multiples only', (schema, enforcement, good, bad) => {
    const compiled = compileJsonSchema(schema)
    expect(compiled.enforcement).toBe(enforcement)
    const matcher = createMatcher(compiled.grammar)
    expect(good.filter((text) => !matcher.matches(text))).toEqual([])
    expect(bad.filter((text) => matcher.matches(text))).toEqual([])
  })

  test('random texts are multiples', () => {
    const random = createRandom(4)
    for (const step of [2, 3, 7, 64, 0.5, 0.25]) {
      const matcher = createMatcher(compileJsonSchema({ type: 'number', multipleOf: step }).grammar)
      for (let round = 0; round < 50; round++)
        expect(Number.isInteger(JSON.parse(matcher.generate(random, 20)) / step)).toBe(true)
    }
  })

  test('a range without multiples is refused', () => {
    expect(() => compileJsonSchema({ type: 'integer', multipleOf: 10, minimum: 1, maximum: 9 })).toThrow(/no value/)
  })
})
