import { expect, test } from 'vitest'
import { FirstTokenTimes } from './first-token-times.ts'

test('nothing is known before the first token', () => {
  expect(new FirstTokenTimes().p95(1000)).toBeUndefined()
})

test('of prompts of one size, the last 64 say within which time 95 % of them began', () => {
  const times = new FirstTokenTimes()
  for (let prompt = 0; prompt < 100; prompt++) times.learn(1000, 60_000)
  for (let ms = 1; ms <= 64; ms++) times.learn(1000, ms)
  expect(times.p95(1000)).toBe(61)
  times.learn(1000, 1000)
  expect(times.p95(1000)).toBe(62)
})

test('a prompt of twice the length is of another size, and a longer one may take longer', () => {
  const times = new FirstTokenTimes()
  times.learn(1100, 100)
  times.learn(9000, 5000)
  expect(times.p95(2047)).toBe(100)
  expect(times.p95(2048)).toBe(200)
  expect(times.p95(4096)).toBe(400)
  expect(times.p95(8192)).toBe(5000)
  expect(times.p95(40_000)).toBe(20_000)
})

test('a prompt shorter than all known ones is judged by the shortest of them', () => {
  const times = new FirstTokenTimes()
  times.learn(9000, 5000)
  times.learn(1100, 100)
  expect(times.p95(1)).toBe(100)
})
