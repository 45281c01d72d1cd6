import { Socket } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { InFlightRequests } from './in-flight-requests.ts'

function request(complete = true, headersSent = false) {
  return { headersSent, req: { complete, destroy: vi.fn(), socket: new Socket() } }
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('is idle at once without requests', async () => {
  expect(await new InFlightRequests().idleWithin(0)).toBe(true)
})

test('is idle when the last request has ended', async () => {
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

test('gives up after the time limit', async () => {
  const running = new InFlightRequests()
  running.enter(request())
  const idle = running.idleWithin(1000)
  vi.advanceTimersByTime(1000)
  expect(await idle).toBe(false)
})

test('closes only requests that have not arrived completely', () => {
  const running = new InFlightRequests()
  const [whole, half, gone] = [request(), request(false), request(false)]
  for (const one of [whole, half, gone]) running.enter(one)
  running.leave(gone)
  running.closeIncomplete()
  expect([whole, half, gone].map(({ req }) => req.destroy.mock.calls.length)).toEqual([0, 1, 0])
})

test.each([
  ['a whole request', request(), 'replying'],
  ['a half request', request(false), 'receiving'],
  ['a half request whose reply has begun', request(false, true), 'replying'],
] as const)('a connection with %s', (_name, one, stage) => {
  const running = new InFlightRequests()
  running.enter(one)
  running.enter(request())
  expect(running.stageOf(one.req.socket)).toBe(stage)
  running.leave(one)
  expect(running.stageOf(one.req.socket)).toBe('idle')
})
