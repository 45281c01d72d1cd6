import { RateLimiterMemory } from 'rate-limiter-flexible'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { MinuteCounter } from './minute-counter.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: 1_000_000 }))
afterEach(() => void vi.useRealTimers())

const create = () => new MinuteCounter(new RateLimiterMemory({ points: 1, duration: 60 }))

test('what is counted is read at once, before the limiter has answered', async () => {
  const counter = create()
  const adding = [counter.add('a', 5), counter.add('a', 2)]
  expect(counter.read('a').used).toBe(7)
  await Promise.all(adding)
  expect(counter.read('a')).toEqual({ used: 7, endsAtMs: 1_060_000 })
})

test('a minute ends no later than that of the limiter, whose answer may take its time', async () => {
  const counter = create()
  const adding = counter.add('a', 5)
  vi.setSystemTime(1_000_040)
  expect((await adding).endsAtMs).toBe(1_060_000)
})

test('nothing is taken back once the minute is over', async () => {
  const counter = create()
  const minute = await counter.add('a', 5)
  await counter.takeBack('a', 2, minute)
  expect(counter.read('a').used).toBe(3)
  vi.advanceTimersByTime(60_000)
  await counter.takeBack('a', 3, minute)
  await counter.add('a', 4)
  expect(counter.read('a')).toEqual({ used: 4, endsAtMs: 1_120_000 })
})
