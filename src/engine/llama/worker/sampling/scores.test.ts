import { expect, test } from 'vitest'
import { mostProbable, scoreToken } from './scores.ts'

/** Weights of 1, 2, 3 and 2: of 8. */
const logits = Float32Array.from([1, 2, 3, 2], Math.log)
const logOf = (share: number) => expect.closeTo(Math.log(share), 5)

test("a token's score is its share of all weights, with the top tokens, of equals the first", () => {
  expect(scoreToken(logits, 0 as never, 3)).toEqual({
    logprob: logOf(1 / 8),
    top: [
      [2, logOf(3 / 8)],
      [1, logOf(2 / 8)],
      [3, logOf(2 / 8)],
    ],
  })
  expect(scoreToken(logits, 2 as never, 0)).toEqual({ logprob: logOf(3 / 8), top: [] })
})

test('asking for more top tokens than there are gives all', () => {
  expect(scoreToken(logits, 0 as never, 9).top.map(([token]) => token)).toEqual([2, 1, 3, 0])
})

test('a token without weight has the least log-probability that JSON can express', () => {
  const without = Float32Array.of(0, Number.NEGATIVE_INFINITY)
  expect(scoreToken(without, 1 as never, 2)).toEqual({
    logprob: -9999,
    top: [
      [0, 0],
      [1, -9999],
    ],
  })
})

test('the most probable token has its share', () => {
  expect(mostProbable(logits)).toEqual({ token: 2, probability: expect.closeTo(3 / 8, 5) })
})
