import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { AwakeClock, afterAwake } from './awake.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** Stops the process: the system's clock goes on, its timers wait. */
function openSleep() {
  const runs = performance.now.bind(performance)
  let sleptMs = 0
  vi.spyOn(performance, 'now').mockImplementation(() => runs() + sleptMs)
  return (ms: number) => {
    sleptMs += ms
  }
}

test.each([0, 2500, 9900, 10_100, 29_900])('a limit does not count a sleep that begins after %s ms', (beforeMs) => {
  const sleep = openSleep()
  const late = vi.fn<() => void>()
  afterAwake(30_000, late)
  vi.advanceTimersByTime(beforeMs)
  sleep(3_600_000)
  vi.advanceTimersByTime(30_000 - beforeMs - 1)
  expect(late).not.toHaveBeenCalled()
  // The step in which it slept counts anew.
  vi.advanceTimersByTime(10_001)
  expect(late).toHaveBeenCalledOnce()
})

test('a limit is kept by a process that runs, also a busy one', () => {
  const sleep = openSleep()
  const late = vi.fn<() => void>()
  afterAwake(30_000, late)
  for (let i = 0; i < 2; i += 1) {
    sleep(4000)
    vi.advanceTimersByTime(10_000)
  }
  expect(late).not.toHaveBeenCalled()
  vi.advanceTimersByTime(2000)
  expect(late).toHaveBeenCalledOnce()
})

test('a limit that is taken back does not come', () => {
  const late = vi.fn<() => void>()
  const cancel = afterAwake(30_000, late)
  vi.advanceTimersByTime(20_000)
  cancel()
  vi.advanceTimersByTime(60_000)
  expect(late).not.toHaveBeenCalled()
})

test('the clock of somebody who waits stands during a sleep', () => {
  const sleep = openSleep()
  const clock = new AwakeClock()
  clock.after(60_000, () => undefined)
  const startMs = clock.now()
  vi.advanceTimersByTime(20_000)
  sleep(3_600_000)
  vi.advanceTimersByTime(20_000)
  expect(clock.now() - startMs).toBe(30_000)
})
