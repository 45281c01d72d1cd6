import { expect, test } from 'vitest'
import { DrainRate } from './drain-rate.ts'

test('nothing is promised before anything has run', () => {
  expect(new DrainRate(1).waitMs(1, 1000)).toBeUndefined()
})

test('the wait is what the slots need for the requests before', () => {
  const rate = new DrainRate(2)
  rate.granted(0)
  rate.granted(0)
  rate.released(0, 100)
  rate.released(0, 100)
  expect([1, 2, 4].map((requests) => rate.waitMs(requests, 100))).toEqual([50, 100, 200])
})

test('the mean follows the last requests', () => {
  const rate = new DrainRate(1)
  for (let atMs = 0; atMs < 1000; atMs += 10) {
    rate.granted(atMs)
    rate.released(atMs, atMs + 10)
  }
  expect(rate.waitMs(1, 1000)).toBe(10)
  for (let atMs = 1000; atMs < 101_000; atMs += 1000) {
    rate.granted(atMs)
    rate.released(atMs, atMs + 1000)
  }
  expect(rate.waitMs(1, 101_000)).toBe(1000)
})

test('what runs for longer than usual counts with its age, also before anything has ended', () => {
  const rate = new DrainRate(1)
  rate.granted(0)
  expect(rate.waitMs(1, 5000)).toBe(5000)
  rate.released(0, 6000)
  rate.granted(6000)
  expect(rate.waitMs(1, 7000)).toBe(6000)
  expect(rate.waitMs(1, 100_000)).toBe(94_000)
})
