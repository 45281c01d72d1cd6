import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { RunningRequests } from './running-requests.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('without a request it is idle at once', async () => {
  expect(await new RunningRequests().idleWithin(0)).toBe(true)
})

test('it is idle when the last request has ended', async () => {
  const running = new RunningRequests()
  running.enter()
  running.enter()
  const idle = running.idleWithin(1000)
  running.leave()
  running.leave()
  expect(await idle).toBe(true)
  expect(vi.getTimerCount()).toBe(0)
})

test('it gives up when the time is over', async () => {
  const running = new RunningRequests()
  running.enter()
  const idle = running.idleWithin(1000)
  vi.advanceTimersByTime(1000)
  expect(await idle).toBe(false)
})
