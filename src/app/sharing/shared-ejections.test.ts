import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { shareOver, startPrimary } from '../../../test/support/process/primary.ts'
import { SharedEjections } from './shared-ejections.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('what one process has ejected, the engine of the model hears in another one, until it stops listening', async () => {
  const join = startPrimary()
  const [here, there] = [new SharedEjections(shareOver(join().primary)), new SharedEjections(shareOver(join().primary))]
  const heard: string[] = []
  const stop = here.of('one')?.listen((url, reason) => heard.push(`${url} ${reason}`))
  there.of('one')?.ejected('a', 'silent')
  there.of('other')?.ejected('b', 'failures')
  await vi.advanceTimersByTimeAsync(10)
  stop?.()
  there.of('one')?.ejected('c', 'failures')
  await vi.advanceTimersByTimeAsync(10)
  expect(heard).toEqual(['a silent'])
})

test('a process that ejects everything, as one without a network does, tells of ten in a second', async () => {
  const join = startPrimary()
  const [here, there] = [new SharedEjections(shareOver(join().primary)), new SharedEjections(shareOver(join().primary))]
  const heard: string[] = []
  here.of('one')?.listen((url) => heard.push(url))
  for (let server = 0; server < 100; server++) there.of('one')?.ejected(`${server}`, 'unreachable')
  await vi.advanceTimersByTimeAsync(1000)
  expect(heard).toHaveLength(10)
  there.of('one')?.ejected('next', 'unreachable')
  await vi.advanceTimersByTimeAsync(10)
  expect(heard.at(-1)).toBe('next')
})

test('while the way to other processes is broken, ejections are told to nobody and fail nothing; later ones are told', async () => {
  const join = startPrimary()
  const { primary } = join()
  let isBroken = true
  const publish: typeof primary.publish = (...message) =>
    isBroken ? Promise.reject(new Error('the database is away')) : primary.publish(...message)
  const [here, there] = [new SharedEjections(shareOver(join().primary)), new SharedEjections(shareOver({ ...primary, publish }))]
  const heard: string[] = []
  here.of('one')?.listen((url) => heard.push(url))
  there.of('one')?.ejected('a', 'unreachable')
  await vi.advanceTimersByTimeAsync(1000)
  isBroken = false
  there.of('one')?.ejected('b', 'unreachable')
  await vi.advanceTimersByTimeAsync(10)
  expect(heard).toEqual(['b'])
})

test('one process tells nobody', () => {
  expect(new SharedEjections().of('one')).toBeUndefined()
})
