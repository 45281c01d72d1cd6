import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { mortalBus, startPrimary } from '../../../test/support/process/primary.ts'
import { Presence } from './presence.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** Processes that share one bus; `end` ends one without a word. */
function start() {
  const join = startPrimary()
  return () => {
    const { bus, end } = mortalBus(join)
    return { presence: new Presence(bus), end }
  }
}
const countOf = ({ presence }: ReturnType<ReturnType<typeof start>>) => presence.processes.all.length

test('processes know of each other as soon as they have started, and forget one that leaves', async () => {
  const join = start()
  const [one, two] = [join(), join()]
  await vi.advanceTimersByTimeAsync(100)
  const three = join()
  await vi.advanceTimersByTimeAsync(100)
  expect([one, two, three].map(countOf)).toEqual([3, 3, 3])
  await two.presence.close()
  expect([one, three].map(countOf)).toEqual([2, 2])
  expect(one.presence.processes.all).toContain(three.presence.processes.own)
})

test('one that has ended is forgotten after a minute, while others are heard', async () => {
  const join = start()
  const [one, two, three] = [join(), join(), join()]
  await vi.advanceTimersByTimeAsync(30_000)
  three.end()
  await vi.advanceTimersByTimeAsync(45_000)
  expect(countOf(one)).toBe(3)
  await vi.advanceTimersByTimeAsync(45_000)
  expect(countOf(one)).toBe(2)
  two.end()
  await vi.advanceTimersByTimeAsync(300_000)
  expect(countOf(one)).toBe(2)
})

test('a process without others knows itself', () => {
  const { own, all } = new Presence().processes
  expect(all).toEqual([own])
})
