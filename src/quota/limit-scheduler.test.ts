import { describe, expect, test, vi } from 'vitest'
import { anyone, contextOf } from '../../test/support/http/context.ts'
import { playingEngine, shortUsage, stubEngine } from '../../test/support/upstream/stub-engine.ts'
import type { KeyQuota } from '../contract/quota.ts'
import { plainRequest } from '../contract/request.ts'
import { generate } from '../core/generate.ts'
import { FairScheduler } from '../core/schedule/fair-scheduler.ts'
import { limitScheduler } from './limit-scheduler.ts'
import { Quotas } from './quotas.ts'

const quota: KeyQuota = { account: 'a', requestsPerMinute: 2, tokensPerMinute: 100 }

function open({ slots = 1, maxQueued = 1, engine = stubEngine() } = {}) {
  const quotas = new Quotas()
  const scheduler = limitScheduler(new FairScheduler({ slots, maxQueued, engine }), quotas)
  const left = () => quotas.states(quota).map(({ remaining }) => remaining)
  return { scheduler, left }
}

const request = (signal = new AbortController().signal) => ({
  id: 'r',
  principal: { id: 'k', scopes: new Set<never>(), quota },
  signal,
})
const never = new AbortController().signal
const cost = { inputTokens: 10, maxOutputTokens: 20 }

describe('a request of a key with limits', () => {
  test('the request reserves with its first slot, and is settled when it leaves', async () => {
    const { scheduler, left } = open()
    const ticket = scheduler.enter(request())
    await ticket.ready(never)
    expect(left()).toEqual([2, 100])
    await ticket.slot(cost, never)
    expect(left()).toEqual([1, 70])
    ticket.charge(7)
    ticket.release()
    await ticket.slot(cost, never)
    ticket.charge(8)
    expect(left()).toEqual([1, 70])
    ticket.leave()
    ticket.leave()
    expect(left()).toEqual([1, 85])
  })

  test('the request that leaves without a charge has used no tokens', async () => {
    const { scheduler, left } = open()
    const ticket = scheduler.enter(request())
    await ticket.slot(cost, never)
    ticket.leave()
    expect(left()).toEqual([1, 100])
  })

  test('the request that is cancelled while it waits has used no tokens, and its turn goes to others', async () => {
    const { scheduler, left } = open()
    const first = scheduler.enter(request())
    await first.slot(cost, never)
    const controller = new AbortController()
    const second = scheduler.enter(request(controller.signal))
    const waiting = second.slot(cost, controller.signal)
    controller.abort(new Error('gone'))
    await expect(waiting).rejects.toThrow('gone')
    second.leave()
    expect(left()).toEqual([0, 70])
    expect(scheduler.load).toMatchObject({ slots: 1, busy: 1, queued: 0 })
  })

  test('loads no model when nothing is left', async () => {
    const ensureReady = vi.fn(async () => undefined)
    const { scheduler } = open({ slots: 4, engine: { ...stubEngine(), ensureReady } })
    for (let count = 0; count < 2; count += 1) await scheduler.enter(request()).slot(cost, never)
    const ticket = scheduler.enter(request())
    await expect(ticket.ready(never)).rejects.toMatchObject({ code: 'rate-limit-exceeded' })
    ticket.leave()
    expect(ensureReady).not.toHaveBeenCalled()
    expect(scheduler.load).toMatchObject({ busy: 2, queued: 0 })
  })

  test('the request that finds the queue full costs nothing', async () => {
    const { scheduler, left } = open({ slots: 1, maxQueued: 0 })
    await scheduler.enter(request()).slot(cost, never)
    expect(() => scheduler.enter(request())).toThrow(expect.objectContaining({ code: 'queue-full' }))
    expect(left()).toEqual([1, 70])
  })

  test('the request that enters twice, such as to compact its conversation, is one request', async () => {
    const { scheduler, left } = open()
    const { signal } = new AbortController()
    for (let count = 0; count < 3; count += 1) {
      const ticket = scheduler.enter(request(signal))
      await ticket.slot(cost, signal)
      ticket.charge(10)
      ticket.leave()
    }
    expect(left()).toEqual([1, 70])
  })

  test('the request that runs in parts has one reservation, which is settled with what all of them used', async () => {
    const { scheduler, left } = open({ slots: 3 })
    const { signal } = new AbortController()
    const ticket = scheduler.enter(request(signal))
    await ticket.slot(cost, signal)
    const part = scheduler.enter(request(signal), 'part')
    expect(part.slot(cost, signal)).toBeUndefined()
    expect(scheduler.load.busy).toBe(2)
    ticket.charge(7)
    part.charge(8)
    part.leave()
    expect(left()).toEqual([1, 70])
    ticket.leave()
    expect(left()).toEqual([1, 85])
  })

  test('the request that only asks about the model is free, also when nothing is left', async () => {
    const { scheduler, left } = open({ slots: 4 })
    for (let count = 0; count < 2; count += 1) await scheduler.enter(request()).slot(cost, never)
    const ticket = scheduler.enter(request(), 'free')
    await ticket.ready(never)
    ticket.leave()
    expect(left()).toEqual([0, 40])
  })
})

test.each([1, 3, 64])('the prompts of one call are one request, and each is charged once, on %i slots', async (slots) => {
  const engine = playingEngine([{ type: 'finish', choice: 0, reason: 'stop' }, shortUsage])
  const wide: KeyQuota = { ...quota, tokensPerMinute: 1000 }
  const quotas = new Quotas()
  const scheduler = limitScheduler(new FairScheduler({ slots, maxQueued: 0, engine }), quotas)
  const prompt = { ...plainRequest, id: 'r', model: 'm', maxOutputTokens: 5, prompt: { type: 'text', text: 'a' } } as const
  const principal = { ...anyone, quota: wide }
  const context = contextOf(engine, { model: { id: 'm', engine, scheduler }, principal })
  await generate({ now: () => 0 }, [prompt, ...Array(15).fill(prompt)], context).run(() => undefined)
  await expect.poll(() => quotas.states(wide).map(({ remaining }) => remaining)).toEqual([1, 1000 - 16 * 2])
})

test('a caller without limits is not counted', async () => {
  const { scheduler, left } = open()
  await scheduler.enter({ ...request(), principal: { id: 'k', scopes: new Set<never>() } }).slot(cost, never)
  expect(left()).toEqual([2, 100])
})
