import { describe, expect, test } from 'vitest'
import { stubEngine } from '../../../test/support/stub-engine.ts'
import { FifoScheduler, type FifoSchedulerOptions } from './fifo-scheduler.ts'

const never = new AbortController().signal

function open(options: Partial<FifoSchedulerOptions> = {}) {
  return new FifoScheduler({ slots: 1, maxQueued: 5, engine: stubEngine(), ...options })
}

describe('FifoScheduler', () => {
  test('free slots are granted at once', async () => {
    const scheduler = open({ slots: 2, maxQueued: 1 })
    await scheduler.enter().slot({}, never)
    await scheduler.enter().slot({}, never)
    expect(scheduler.load).toEqual({ slots: 2, busy: 2, queued: 0 })
  })

  test('waiting requests get slots first come, first served', async () => {
    const scheduler = open()
    const order: number[] = []
    const first = scheduler.enter()
    await first.slot({}, never)
    // The order of entering does not matter.
    const tickets = [1, 2, 3].map((index) => ({ index, ticket: scheduler.enter() })).reverse()
    const waiting = tickets.map(async ({ index, ticket }) => {
      await ticket.slot({}, never)
      order.push(index)
      ticket.leave()
    })
    expect(scheduler.load).toMatchObject({ busy: 1, queued: 3 })
    first.leave()
    await Promise.all(waiting)
    expect(order).toEqual([3, 2, 1])
    expect(scheduler.load).toMatchObject({ busy: 0, queued: 0 })
  })

  test('a request beyond the queue is refused at once, with the numbers of the others and a retry time', async () => {
    const scheduler = open({ maxQueued: 1 })
    await scheduler.enter().slot({}, never)
    scheduler.enter()
    const message = "the model's queue is full (requests running: 1, waiting: 1); try again shortly"
    expect(() => scheduler.enter()).toThrow(expect.objectContaining({ code: 'queue-full', retryAfterMs: 1000, message }))
  })

  test('requests that wait for the model to load count as well', () => {
    const scheduler = open({ maxQueued: 0 })
    const ticket = scheduler.enter()
    expect(() => scheduler.enter()).toThrow(expect.objectContaining({ code: 'queue-full' }))
    ticket.leave()
    scheduler.enter()
  })

  test('a request that waits for the model holds no slot, and fails as the model does', async () => {
    const scheduler = open({ engine: { ensureReady: () => Promise.reject(new Error('no model')) } })
    const ticket = scheduler.enter()
    await expect(ticket.ready(never)).rejects.toThrow('no model')
    expect(scheduler.load).toMatchObject({ busy: 0, queued: 1 })
    ticket.leave()
    expect(scheduler.load).toMatchObject({ busy: 0, queued: 0 })
  })

  test('the model is asked to be ready with the signal of the request', async () => {
    const seen: AbortSignal[] = []
    const scheduler = open({ engine: { ensureReady: async (signal) => void seen.push(signal) } })
    const { signal } = new AbortController()
    await scheduler.enter().ready(signal)
    expect(seen).toEqual([signal])
  })

  test('an aborted wait leaves the queue and never gets a slot', async () => {
    const scheduler = open({ maxQueued: 1 })
    const holder = scheduler.enter()
    await holder.slot({}, never)
    const controller = new AbortController()
    const leaving = scheduler.enter()
    const asked = leaving.slot({}, controller.signal)
    controller.abort(new Error('left'))
    await expect(asked).rejects.toThrow('left')
    leaving.leave()
    const next = scheduler.enter()
    const granted = next.slot({}, never)
    holder.leave()
    await granted
    expect(scheduler.load).toMatchObject({ busy: 1, queued: 0 })
  })

  test('leaving twice frees one slot', async () => {
    const scheduler = open({ maxQueued: 0 })
    const ticket = scheduler.enter()
    await ticket.slot({}, never)
    ticket.leave()
    ticket.leave()
    expect(scheduler.load).toMatchObject({ busy: 0, queued: 0 })
  })

  test('a request that is already cancelled takes no slot', async () => {
    const scheduler = open({ maxQueued: 0 })
    await expect(scheduler.enter().slot({}, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
    expect(scheduler.load.busy).toBe(0)
  })
})

describe('a ticket whose slot is given back between two steps', () => {
  test('keeps its ticket: others get the slot, and no further request enters', async () => {
    const scheduler = open({ maxQueued: 1 })
    const ticket = scheduler.enter()
    await ticket.slot({}, never)
    const other = scheduler.enter()
    const granted = other.slot({}, never)
    ticket.release()
    await granted
    expect(scheduler.load).toMatchObject({ busy: 1, queued: 1 })
    expect(() => scheduler.enter()).toThrow(expect.objectContaining({ code: 'queue-full' }))
  })

  test('queues again after the waiting requests', async () => {
    const scheduler = open()
    const order: string[] = []
    const ticket = scheduler.enter()
    await ticket.slot({}, never)
    const others = ['b', 'c'].map(async (name) => {
      const other = scheduler.enter()
      await other.slot({}, never)
      order.push(name)
      other.leave()
    })
    ticket.release()
    await ticket.slot({}, never)
    order.push('a')
    ticket.leave()
    await Promise.all(others)
    expect(order).toEqual(['b', 'c', 'a'])
    expect(scheduler.load).toMatchObject({ busy: 0, queued: 0 })
  })

  test('releases one slot, however often it is called', async () => {
    const scheduler = open({ slots: 2 })
    const [ticket, other] = [scheduler.enter(), scheduler.enter()]
    await ticket.slot({}, never)
    await other.slot({}, never)
    ticket.release()
    ticket.release()
    expect(scheduler.load).toMatchObject({ busy: 1, queued: 1 })
    ticket.leave()
    expect(scheduler.load).toMatchObject({ busy: 1, queued: 0 })
  })

  test('can be released and charged before it has a slot', async () => {
    const scheduler = open()
    const ticket = scheduler.enter()
    ticket.release()
    ticket.charge(100)
    await ticket.slot({ inputTokens: 3, maxOutputTokens: 4 }, never)
    expect(scheduler.load).toMatchObject({ busy: 1, queued: 0 })
  })
})
