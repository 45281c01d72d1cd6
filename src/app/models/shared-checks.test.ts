import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { SharedChecks } from './shared-checks.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('what has passed within a second is sent together, each server once', () => {
  const tell = vi.fn()
  const checks = new SharedChecks(tell)
  const [one, other] = [checks.of('one'), checks.of('other')]
  one?.passed('a')
  one?.passed('b')
  one?.passed('a')
  other?.passed('c')
  expect(tell).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1000)
  expect(tell.mock.calls).toEqual([[{ model: 'one', urls: ['a', 'b'] }], [{ model: 'other', urls: ['c'] }]])
  vi.advanceTimersByTime(5000)
  one?.passed('a')
  vi.advanceTimersByTime(1000)
  expect(tell).toHaveBeenCalledTimes(3)
})

test('what another process has found out is heard by the engine of the model, until it stops listening', () => {
  const checks = new SharedChecks(() => undefined)
  const heard: string[] = []
  const stop = checks.of('one')?.listen((url) => heard.push(url))
  checks.hear({ model: 'one', urls: ['a', 'b'] })
  checks.hear({ model: 'other', urls: ['c'] })
  stop?.()
  checks.hear({ model: 'one', urls: ['d'] })
  expect(heard).toEqual(['a', 'b'])
})

test('one process tells nobody', () => {
  expect(new SharedChecks().of('one')).toBeUndefined()
})
