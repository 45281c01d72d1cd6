import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { shareOver, startPrimary } from '../../../test/support/process/primary.ts'
import { SharedChecks } from './shared-checks.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('what has passed within a second is sent together, each server once', async () => {
  const join = startPrimary()
  const checks = new SharedChecks(shareOver(join().primary))
  const told: unknown[] = []
  await join().primary.subscribe(
    'checks',
    (message) => told.push(message),
    () => undefined,
  )
  const [one, other] = [checks.of('one'), checks.of('other')]
  one?.passed('a')
  one?.passed('b')
  one?.passed('a')
  other?.passed('c')
  await vi.advanceTimersByTimeAsync(999)
  expect(told).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect(told).toEqual([
    { model: 'one', urls: ['a', 'b'] },
    { model: 'other', urls: ['c'] },
  ])
  await vi.advanceTimersByTimeAsync(5000)
  one?.passed('a')
  await vi.advanceTimersByTimeAsync(1000)
  expect(told).toHaveLength(3)
})

test('what another process has found out is heard by the engine of the model, until it stops listening', async () => {
  const join = startPrimary()
  const [here, there] = [new SharedChecks(shareOver(join().primary)), new SharedChecks(shareOver(join().primary))]
  const heard: string[] = []
  const stop = here.of('one')?.listen((url) => heard.push(url))
  there.of('one')?.passed('a')
  there.of('one')?.passed('b')
  there.of('other')?.passed('c')
  await vi.advanceTimersByTimeAsync(1000)
  stop?.()
  there.of('one')?.passed('d')
  await vi.advanceTimersByTimeAsync(1000)
  expect(heard).toEqual(['a', 'b'])
})

test('one process tells nobody', () => {
  expect(new SharedChecks().of('one')).toBeUndefined()
})
