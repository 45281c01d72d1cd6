import fc from 'fast-check'
import { expect, test } from 'vitest'
import { mayLoseDigits } from './long-numbers.ts'

test('a quick test finds a run of 16 digits wherever it is, and no shorter one', () => {
  for (let before = 0; before < 40; before++) {
    for (const digits of [15, 16, 17, 40]) {
      const text = `[${' '.repeat(before)}1,${'7'.repeat(digits)}]`
      expect([before, digits, mayLoseDigits(text)]).toEqual([before, digits, digits >= 16])
    }
  }
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('1', '.', ',', ' ', 'e', '-'), maxLength: 200 }), (text) => {
      expect(mayLoseDigits(text)).toBe(/[\d.]{16}|[:,[\s]-?\d[\d.]*[eE][+-]?\d{3}/.test(text))
    }),
  )
})

test.each([
  ['{"id":12345678901234567890}', true],
  ['{"x":1e400}', true],
  ['{"x":0.12345678901234567}', true],
  ['{"x":123456789012345}', false],
])('%s may lose digits: %s', (json, expected) => {
  expect(mayLoseDigits(json)).toBe(expected)
})
