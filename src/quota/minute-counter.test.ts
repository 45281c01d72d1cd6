import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { MinuteCounter } from './minute-counter.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'hrtime'], now: 1_000_000 }))
afterEach(() => void vi.useRealTimers())

const share = (tokens: number) => ({ requests: 1, tokens, isStretched: false })

test('what is counted is known immediately', () => {
  const counter = new MinuteCounter()
  void counter.take('a', share(5), {})
  void counter.take('a', share(2), {})
  expect(counter.known('a')).toEqual({ requests: 2, tokens: 7, isStretched: false, minute: 60_000, endsAtMs: 60_000 })
})

test('nothing is given back once the minute is over', async () => {
  const counter = new MinuteCounter()
  const { minute } = (await counter.take('a', share(5), {})) ?? { minute: 0 }
  await counter.settle('a', { tokens: -2, isStretched: false, minute })
  expect(counter.known('a')).toMatchObject({ tokens: 3 })
  vi.advanceTimersByTime(60_000)
  await counter.settle('a', { tokens: -3, isStretched: false, minute })
  expect(counter.known('a')).toMatchObject({ requests: 0, minute: 0 })
  await counter.take('a', share(4), {})
  expect(counter.known('a')).toMatchObject({ tokens: 4, minute: 120_000 })
})
