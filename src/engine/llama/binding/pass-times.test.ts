import { expect, test } from 'vitest'
import { PassTimes } from './pass-times.ts'

/** The times after rounds of so many tokens and ms. */
function after(...rounds: readonly (readonly [tokens: number, tookMs: number])[]): PassTimes {
  const times = new PassTimes()
  for (const [tokens, tookMs] of rounds) times.learn(tokens, tookMs)
  return times
}

test.each([
  ['nothing is known at first', after(), 3, 0],
  ['no tokens take no time', after([1, 20]), 0, 0],
  ['one slow and one empty round do not count', after([2, 30], [2, 900], [2, 31], [2, 0.01], [2, 32]), 2, 31],
  ['old rounds are forgotten', after(...[90, 90, 90, 90, 90, 20, 20, 20].map((ms): [number, number] => [1, ms])), 1, 20],
  ['fewer tokens than ever take no longer than more', after([2, 16], [4, 40]), 1, 16],
  ['a number between two lies on a line', after([1, 16], [4, 40]), 2, 24],
  ['more tokens take at most as much longer as they are more', after([1, 16], [4, 40]), 8, 80],
])('the time of a pass, where %s', (_, times, tokens, expected) => expect(times.of(tokens)).toBe(expected))

test('more tokens than ever measured take at least as long as fewer', () => {
  const times = after([1, 16], [4, 40])
  expect([times.atLeast(8), times.atLeast(4), times.atLeast(2)]).toEqual([40, 40, 24])
})
