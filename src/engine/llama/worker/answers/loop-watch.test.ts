import { expect, test } from 'vitest'
import type { Token } from '../../binding/tokenizer.ts'
import { LoopWatch } from './loop-watch.ts'

/** After how many tokens a loop is seen; undefined: never. */
const seenAfter = (window: number, tokens: readonly number[]) => {
  const watch = new LoopWatch(window)
  const at = tokens.findIndex((token) => watch.push(token as Token))
  return at === -1 ? undefined : at + 1
}
const times = (count: number, pattern: readonly number[]) => Array.from({ length: count }, () => pattern).flat()

test.each<[string, number, readonly number[], number | undefined]>([
  ['one token again and again, when the window is full of it', 8, times(20, [7]), 8],
  ['a pattern of three, in a window of two and two thirds of it', 8, [9, 9, ...times(5, [1, 2, 3])], 10],
  ['a pattern of half the window, twice', 8, [5, ...times(2, [1, 2, 3, 4])], 9],
  ['a pattern that is longer than half the window', 8, times(6, [1, 2, 3, 4, 5]), undefined],
  ['a pattern with one difference', 8, [1, 2, 1, 2, 1, 2, 3, 1, 2, 1, 2, 1, 2], undefined],
  ['an output that is shorter than the window', 8, times(3, [1, 2]), undefined],
  ['a window of two', 2, [1, 2, 3, 3], 4],
])('an output with %s', (_, window, tokens, after) => {
  expect(seenAfter(window, tokens)).toBe(after)
})
