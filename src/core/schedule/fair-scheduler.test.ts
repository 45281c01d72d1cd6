import { describe, expect, test } from 'vitest'
import { stubEngine } from '../../../test/support/upstream/stub-engine.ts'
import type { Lane, QueuePosition, Scheduler, SchedulerRequest, Ticket } from '../../contract/scheduler.ts'
import { FairScheduler, type FairSchedulerOptions } from './fair-scheduler.ts'

const never = new AbortController().signal

function open(options: Partial<FairSchedulerOptions> = {}) {
  return new FairScheduler({ slots: 1, maxQueued: 5, engine: stubEngine(), ...options })
}

function enter(
  scheduler: Scheduler,
  { caller = 'one', ...request }: Partial<SchedulerRequest> & { caller?: string } = {},
): Ticket {
  return scheduler.enter({ id: 'r', principal: { id: caller, scopes: new Set() }, signal: never, ...request })
}

describe('FairScheduler', () => {
  test('free slots are granted immediately', async () => {
    const scheduler = open({ slots: 2, maxQueued: 1 })
    await enter(scheduler).slot({}, never)
    await enter(scheduler).slot({}, never)
    expect(scheduler.load).toMatchObject({ slots: 2, busy: 2, queued: 0 })
  })

  test('waiting requests get slots first come, first served', async () => {
    const scheduler = open()
    const order: number[] = []
    const first = enter(scheduler)
    await first.slot({}, never)
    // The order of entering does not matter.
    const tickets = [1, 2, 3].map((index) => ({ index, ticket: enter(scheduler) })).reverse()
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

  test('is idle when the last request has left, however many came meanwhile', async () => {
    const scheduler = open()
    const first = enter(scheduler)
    await first.slot({}, never)
    let isIdle = false
    const idle = scheduler.whenIdle(never).then(() => {
      isIdle = true
    })
    const second = enter(scheduler)
    first.leave()
    await second.slot({}, never)
    second.release()
    await Promise.resolve()
    expect(isIdle).toBe(false)
    second.leave()
    await idle
    await scheduler.whenIdle(never)
  })

  test('a wait for it to be idle ends with the reason of its signal', async () => {
    const scheduler = open()
    enter(scheduler)
    const leaving = new AbortController()
    const idle = scheduler.whenIdle(leaving.signal)
    leaving.abort(new Error('gone'))
    await expect(idle).rejects.toThrow('gone')
  })

  test('a request beyond the queue is refused immediately, with the numbers of the others and a retry time', async () => {
    const scheduler = open({ maxQueued: 1, now: () => 0 })
    await enter(scheduler).slot({}, never)
    enter(scheduler)
    const message = "the model's queue is full (requests running: 1, waiting: 1); try again later"
    expect(() => enter(scheduler)).toThrow(expect.objectContaining({ code: 'queue-full', retryAfterMs: 1000, message }))
    expect(scheduler.load).toMatchObject({ busy: 1, queued: 1, refused: 1 })
  })

  test('requests that wait for the model to load count as well', () => {
    const scheduler = open({ maxQueued: 0 })
    const ticket = enter(scheduler)
    expect(() => enter(scheduler)).toThrow(expect.objectContaining({ code: 'queue-full' }))
    ticket.leave()
    enter(scheduler)
  })

  test('a request that waits for the model holds no slot, and fails as the model does', async () => {
    const scheduler = open({ engine: { ensureReady: () => Promise.reject(new Error('no model')) } })
    const ticket = enter(scheduler)
    await expect(ticket.ready(never)).rejects.toThrow('no model')
    expect(scheduler.load).toMatchObject({ busy: 0, queued: 1 })
    ticket.leave()
    expect(scheduler.load).toMatchObject({ busy: 0, queued: 0 })
  })

  test('the model is asked to be ready with the signal of the request', async () => {
    const seen: AbortSignal[] = []
    const scheduler = open({ engine: { ensureReady: async (signal) => void seen.push(signal) } })
    const { signal } = new AbortController()
    await enter(scheduler).ready(signal)
    expect(seen).toEqual([signal])
  })

  test('an aborted wait leaves the queue and never gets a slot', async () => {
    const scheduler = open({ maxQueued: 1 })
    const holder = enter(scheduler)
    await holder.slot({}, never)
    const controller = new AbortController()
    const leaving = enter(scheduler)
    const asked = leaving.slot({}, controller.signal)
    controller.abort(new Error('left'))
    await expect(asked).rejects.toThrow('left')
    leaving.leave()
    const next = enter(scheduler)
    const granted = next.slot({}, never)
    holder.leave()
    await granted
    expect(scheduler.load).toMatchObject({ busy: 1, queued: 0 })
  })

  test('leaving twice frees one slot', async () => {
    const scheduler = open({ maxQueued: 0 })
    const ticket = enter(scheduler)
    await ticket.slot({}, never)
    ticket.leave()
    ticket.leave()
    expect(scheduler.load).toMatchObject({ busy: 0, queued: 0 })
  })

  test('a request that is already cancelled takes no slot', async () => {
    const scheduler = open({ maxQueued: 0 })
    await expect(enter(scheduler).slot({}, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
    expect(scheduler.load.busy).toBe(0)
  })
})

describe('a ticket whose slot is given back between two steps', () => {
  test('the ticket keeps its ticket: others get the slot, and no further request enters', async () => {
    const scheduler = open({ maxQueued: 1 })
    const ticket = enter(scheduler)
    await ticket.slot({}, never)
    const other = enter(scheduler)
    const granted = other.slot({}, never)
    ticket.release()
    await granted
    expect(scheduler.load).toMatchObject({ busy: 1, queued: 1 })
    expect(() => enter(scheduler)).toThrow(expect.objectContaining({ code: 'queue-full' }))
  })

  test('the ticket queues again after the waiting requests', async () => {
    const scheduler = open()
    const order: string[] = []
    const ticket = enter(scheduler)
    await ticket.slot({}, never)
    const others = ['b', 'c'].map(async (name) => {
      const other = enter(scheduler)
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

  test('the ticket releases one slot, however often it is called', async () => {
    const scheduler = open({ slots: 2 })
    const [ticket, other] = [enter(scheduler), enter(scheduler)]
    await ticket.slot({}, never)
    await other.slot({}, never)
    ticket.release()
    ticket.release()
    expect(scheduler.load).toMatchObject({ busy: 1, queued: 1 })
    ticket.leave()
    expect(scheduler.load).toMatchObject({ busy: 1, queued: 0 })
  })

  test('the ticket can be released and charged before it has a slot', async () => {
    const scheduler = open()
    const ticket = enter(scheduler)
    ticket.release()
    ticket.charge(100)
    await ticket.slot({ inputTokens: 3, maxOutputTokens: 4 }, never)
    expect(scheduler.load).toMatchObject({ busy: 1, queued: 0 })
  })
})

describe('a full queue', () => {
  const displacedMessage = 'gave its place to a caller with fewer'

  test('a full queue is shared by its callers: a newcomer takes the place of the newest request of the one with the most', async () => {
    const scheduler = open({ maxQueued: 3 })
    const runs = enter(scheduler, { caller: 'greedy' })
    await runs.slot({}, never)
    const waits = [1, 2, 3].map(() => enter(scheduler, { caller: 'greedy' }).slot({}, never))
    const modest = enter(scheduler, { caller: 'modest' }).slot({}, never)
    await expect(waits[2]).rejects.toThrow(displacedMessage)
    expect(scheduler.load).toMatchObject({ busy: 1, queued: 3, refused: 1 })
    runs.leave()
    await Promise.race([modest, ...waits.slice(0, 2)])
  })

  test('a full queue refuses a slot to a request that lost its place', async () => {
    const scheduler = open({ maxQueued: 1 })
    const tickets = [enter(scheduler, { caller: 'greedy' }), enter(scheduler, { caller: 'greedy' })]
    enter(scheduler, { caller: 'modest' })
    await expect(tickets[1]?.slot({}, never)).rejects.toThrow(displacedMessage)
    await tickets[0]?.slot({}, never)
    tickets[1]?.leave()
    expect(scheduler.load).toMatchObject({ busy: 1, queued: 1 })
  })

  test('a full queue spares a request that has run before', async () => {
    const scheduler = open({ maxQueued: 2 })
    const fresh = [enter(scheduler, { caller: 'greedy' }), enter(scheduler, { caller: 'greedy' })]
    const steps = enter(scheduler, { caller: 'greedy' })
    await steps.slot({}, never)
    steps.release()
    enter(scheduler, { caller: 'modest' })
    await expect(fresh[1]?.slot({}, never)).rejects.toThrow(displacedMessage)
    await steps.slot({}, never)
    expect(scheduler.load).toMatchObject({ busy: 1, queued: 2 })
  })
})

describe('a request that waits', () => {
  const watch = () => {
    const places: (() => QueuePosition | undefined)[] = []
    return { places, onQueued: (place: () => QueuePosition | undefined) => void places.push(place) }
  }

  test('a request that waits has a place, until it has a slot', async () => {
    let nowMs = 0
    const scheduler = open({ now: () => nowMs })
    const { places, onQueued } = watch()
    const first = enter(scheduler, { onQueued })
    await first.slot({}, never)
    expect(places).toHaveLength(0)
    const second = enter(scheduler, { onQueued })
    const granted = second.slot({}, never)
    const third = enter(scheduler, { onQueued })
    const abandoned = new AbortController()
    const left = third.slot({}, abandoned.signal)
    nowMs = 100
    expect(places.map((place) => place())).toEqual([
      { position: 1, estimatedWaitMs: 100 },
      { position: 2, estimatedWaitMs: 200 },
    ])
    first.leave()
    await granted
    expect(places.map((place) => place())).toEqual([undefined, { position: 1, estimatedWaitMs: 100 }])
    abandoned.abort(new Error('left'))
    await expect(left).rejects.toThrow('left')
    expect(places[1]?.()).toBeUndefined()
  })

  test('a request that waits has its wait reported when it ends', async () => {
    let nowMs = 0
    const waits: [Lane, number][] = []
    const scheduler = open({ now: () => nowMs, onGranted: (lane, waitedMs) => void waits.push([lane, waitedMs]) })
    const first = enter(scheduler)
    await first.slot({}, never)
    const granted = enter(scheduler, { lane: 'background' }).slot({}, never)
    expect(scheduler.load.lanes).toEqual({ interactive: 0, background: 1 })
    nowMs = 70
    first.leave()
    await granted
    expect(waits).toEqual([
      ['interactive', 0],
      ['background', 70],
    ])
  })
})
