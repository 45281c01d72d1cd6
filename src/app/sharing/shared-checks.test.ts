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
  one?.passed('a', { waiting: 2, cacheUse: 0.5 })
  other?.passed('c')
  await vi.advanceTimersByTimeAsync(999)
  expect(told).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect(told).toEqual([
    { model: 'one', passed: [{ url: 'a', load: { waiting: 2, cacheUse: 0.5 } }, { url: 'b' }] },
    { model: 'other', passed: [{ url: 'c' }] },
  ])
  await vi.advanceTimersByTimeAsync(5000)
  one?.passed('a')
  await vi.advanceTimersByTimeAsync(1000)
  expect(told).toHaveLength(3)
})

test('what another process has found out is heard by the engine of the model, until it stops listening', async () => {
  const join = startPrimary()
  const [here, there] = [new SharedChecks(shareOver(join().primary)), new SharedChecks(shareOver(join().primary))]
  const heard: unknown[] = []
  const stop = here.of('one')?.listen((url, load) => void heard.push([url, load]))
  there.of('one')?.passed('a')
  there.of('one')?.passed('b', { running: 3, waiting: 1 })
  there.of('other')?.passed('c')
  await vi.advanceTimersByTimeAsync(1000)
  stop?.()
  there.of('one')?.passed('d')
  await vi.advanceTimersByTimeAsync(1000)
  expect(heard).toEqual([
    ['a', undefined],
    ['b', { running: 3, waiting: 1 }],
  ])
})

test('one process tells nobody', () => {
  expect(new SharedChecks().of('one')).toBeUndefined()
})
