import { expect, test } from 'vitest'
import { startOf } from './start-of.ts'

test('the start of a text has no half of a character', () => {
  expect(startOf('abc', 3)).toBe('abc')
  expect(startOf('abc', 2)).toBe('ab')
  expect(startOf('ab😀cd', 3)).toBe('ab')
  expect(startOf('ab😀cd', 4)).toBe('ab😀')
})
