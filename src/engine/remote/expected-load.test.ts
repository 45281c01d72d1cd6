import { expect, test } from 'vitest'
import { ask } from '../../../test/support/upstream/remote-engine.ts'
import { ExpectedLoad } from './expected-load.ts'

const long = ask('x'.repeat(40_000 - 16))
const usage = (inputTokens: number, outputTokens: number) => ({
  inputTokens,
  outputTokens,
  cachedInputTokens: 0,
  reasoningTokens: 0,
})

test('before any reply, a token is four bytes, and an output 512 tokens or its limit', () => {
  const load = new ExpectedLoad()
  expect(load.of(long)).toEqual({ promptTokens: 10_000, tokens: 10_512 })
  expect(load.of({ ...long, maxOutputTokens: 100 })).toEqual({ promptTokens: 10_000, tokens: 10_100 })
  expect(load.of({ ...long, choices: 3 })).toEqual({ promptTokens: 10_000, tokens: 10_000 + 3 * 512 })
})

test('what was counted is not estimated', () => {
  const load = new ExpectedLoad()
  expect(load.of(long, 123).promptTokens).toBe(123)
  expect(load.of({ ...long, prompt: { type: 'tokens', tokens: [1, 2, 3] } }).promptTokens).toBe(3)
})

test('the bytes of a token are learned from the replies of the model', () => {
  const load = new ExpectedLoad()
  for (let count = 0; count < 20; count++) load.learn(long, usage(20_000, 10))
  expect(load.of(long).promptTokens / 20_000).toBeCloseTo(1, 1)
  // Uncounted, it says nothing.
  load.learn(long, usage(0, 10))
  expect(load.of(long).promptTokens / 20_000).toBeCloseTo(1, 1)
})

test('an output is expected to be twice the mean, which follows the model, and at most its limit', () => {
  const load = new ExpectedLoad()
  load.learn(long, usage(10_000, 100))
  expect(load.of({ ...long, maxOutputTokens: 32_000 }).tokens).toBe(10_200)
  expect(load.of({ ...long, maxOutputTokens: 50 }).tokens).toBe(10_050)
  for (let count = 0; count < 300; count++) load.learn({ ...long, choices: 2 }, usage(10_000, 800))
  const { tokens, promptTokens } = load.of(long)
  expect((tokens - promptTokens) / 800).toBeCloseTo(1, 1)
})
