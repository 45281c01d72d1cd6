import { Socket } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { InFlightRequests } from './in-flight-requests.ts'

function request(complete = true, headersSent = false) {
  return { headersSent, req: { complete, destroy: vi.fn(), socket: new Socket() } }
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('without a request it is idle at once', async () => {
  expect(await new InFlightRequests().idleWithin(0)).toBe(true)
})

test('it is idle when the last request has ended', async () => {
  const running = new InFlightRequests()
  const [first, second] = [request(), request()]
  running.enter(first)
  running.enter(second)
  const idle = running.idleWithin(1000)
  running.leave(first)
  running.leave(second)
  expect(await idle).toBe(true)
  expect(vi.getTimerCount()).toBe(0)
})

test('it gives up when the time is over', async () => {
  const running = new InFlightRequests()
  running.enter(request())
  const idle = running.idleWithin(1000)
  vi.advanceTimersByTime(1000)
  expect(await idle).toBe(false)
})

test('only a request that has not arrived whole is cut', () => {
  const running = new InFlightRequests()
  const [whole, half, gone] = [request(), request(false), request(false)]
  for (const one of [whole, half, gone]) running.enter(one)
  running.leave(gone)
  running.cutIncomplete()
  expect([whole, half, gone].map(({ req }) => req.destroy.mock.calls.length)).toEqual([0, 1, 0])
})

test.each([
  ['a whole request', request(), 'answering'],
  ['a half request', request(false), 'receiving'],
  ['a half request whose reply has begun', request(false, true), 'answering'],
] as const)('a connection with %s', (_name, one, stage) => {
  const running = new InFlightRequests()
  running.enter(one)
  running.enter(request())
  expect(running.stageOf(one.req.socket)).toBe(stage)
  running.leave(one)
  expect(running.stageOf(one.req.socket)).toBe('idle')
})
