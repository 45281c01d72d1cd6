import { expect, test } from 'vitest'
import { endOutside, isPlaceholder, placeholders, positionAt } from './spans.ts'

/** Nine vectors in a grid of three by three after two tokens, then a token, then four vectors in a row. */
const spans = [
  { start: 2, tokens: 9, positions: 3 },
  { start: 12, tokens: 4, positions: 4 },
]

test.each([
  ['before all vectors', 2, 2],
  ['inside a grid, where it is that of its start', 5, 2],
  ['after the grid', 11, 5],
  ['in a row of vectors', 14, 8],
  ['after both', 16, 10],
])('the position of a token %s', (_, index, position) => {
  expect(positionAt(spans, index)).toBe(position)
})

test.each([
  ['no vector', 2, 2],
  ['some of the first', 10, 2],
  ['all of the first', 11, 11],
  ['some of the second', 13, 12],
  ['all', 20, 20],
])('a prefix with %s ends outside of both', (_, count, end) => {
  expect(endOutside(spans, count)).toBe(end)
})

test('placeholder tokens are above every vocabulary, need no sign, and differ with the content', () => {
  const [one, other] = [placeholders(Uint32Array.of(0xffffffff, 7), 64), placeholders(Uint32Array.of(0xffffffff, 8), 64)]
  expect([...one, ...other].every((token) => isPlaceholder(token) && token < 2 ** 31)).toBe(true)
  expect(new Set(one).size).toBe(64)
  expect(one).not.toEqual(other)
})
