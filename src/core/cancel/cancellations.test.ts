import { describe, expect, test } from 'vitest'
import type { CancelReason } from '../../contract/context.ts'
import { Cancellations } from './cancellations.ts'

const owner = 'alice'

describe('a running request', () => {
  test('a running request reports why it was cancelled', () => {
    const run = new Cancellations().open({ id: 'a', owner })
    expect(run.cancel('client-gone')).toBe(true)
    expect(run.signal.reason).toMatchObject({ code: 'cancelled', message: expect.stringContaining('client') })
  })

  test.each<[CancelReason, string]>([
    ['client-gone', 'cancelled'],
    ['requested', 'cancelled'],
    ['deadline', 'cancelled'],
    ['over-budget', 'cancelled'],
    ['unloaded', 'model-unavailable'],
    ['shutting-down', 'shutting-down'],
  ])('a running request that is cancelled because of %s fails with %s', (reason, code) => {
    const run = new Cancellations().open({ id: 'a', owner })
    run.cancel(reason)
    expect(run.signal.reason).toMatchObject({ code })
  })

  test('a running request keeps the first reason', () => {
    const cancellations = new Cancellations()
    const run = cancellations.open({ id: 'a', owner })
    run.cancel('client-gone')
    expect(run.cancel('shutting-down')).toBe(false)
    expect(cancellations.cancelWhere({ id: 'a' }, 'shutting-down')).toBe(0)
    expect(run.signal.reason).toMatchObject({ code: 'cancelled' })
  })

  test('a running request that is unknown or finished is not cancelled', () => {
    const cancellations = new Cancellations()
    const run = cancellations.open({ id: 'a', owner })
    run.close()
    expect(cancellations.cancelWhere({ id: 'a' }, 'client-gone')).toBe(0)
    expect(cancellations.cancelWhere({ id: 'b' }, 'client-gone')).toBe(0)
    expect(run.signal.aborted).toBe(false)
    expect(cancellations.size).toBe(0)
  })

  test('a running request whose id is in use is refused, and the running one continues', () => {
    const cancellations = new Cancellations()
    const run = cancellations.open({ id: 'a', owner })
    expect(() => cancellations.open({ id: 'a', owner })).toThrow(expect.objectContaining({ code: 'request-conflict' }))
    expect(run.signal.aborted).toBe(false)
    expect(cancellations.size).toBe(1)
  })

  test('a running request has its own signal: listeners of an earlier request with the same id are not called', () => {
    const cancellations = new Cancellations()
    const first = cancellations.open({ id: 'a', owner })
    let heard = 0
    first.signal.addEventListener('abort', () => {
      heard += 1
    })
    first.close()
    const second = cancellations.open({ id: 'a', owner })
    expect(second.signal).not.toBe(first.signal)
    second.cancel('requested')
    expect([first.signal.aborted, second.signal.aborted, heard]).toEqual([false, true, 0])
  })

  test('a running request that is closed twice does not unregister its successor', () => {
    const cancellations = new Cancellations()
    const first = cancellations.open({ id: 'a', owner })
    first.close()
    const second = cancellations.open({ id: 'a', owner })
    first.close()
    expect(cancellations.cancelWhere({ id: 'a' }, 'requested')).toBe(1)
    expect(second.signal.aborted).toBe(true)
  })
})

describe('running requests, selected by their fields', () => {
  function open() {
    const cancellations = new Cancellations()
    const runs = {
      a: cancellations.open({ id: 'a', owner: 'alice', sessionId: 's1' }),
      b: cancellations.open({ id: 'b', owner: 'bob', sessionId: 's1', cancelId: 'mine' }),
      c: cancellations.open({ id: 'c', owner: 'alice', cancelId: 'mine' }),
      d: cancellations.open({ id: 'd', owner: 'alice', sessionId: 's2' }),
    }
    runs.a.servedBy('m1')
    runs.c.servedBy('m2')
    runs.d.servedBy('m1')
    const aborted = () => Object.entries(runs).flatMap(([id, { signal }]) => (signal.aborted ? [id] : []))
    return { cancellations, runs, aborted }
  }

  test.each([
    [{ sessionId: 's1' }, ['a', 'b']],
    [{ sessionId: 's1', owner: 'alice' }, ['a']],
    [{ cancelId: 'mine', owner: 'alice' }, ['c']],
    [{ owner: 'alice' }, ['a', 'c', 'd']],
    [{ model: 'm1' }, ['a', 'd']],
    [{ model: 'm1', sessionId: 's2' }, ['d']],
    [{ id: 'b' }, ['b']],
    [{ id: 'b', owner: 'alice' }, []],
    [{ sessionId: 's3' }, []],
    [{ model: 'unknown' }, []],
    [{}, ['a', 'b', 'c', 'd']],
  ])('%j selects %j, to list and to cancel', (filter, ids) => {
    const { cancellations, aborted } = open()
    expect(cancellations.list(filter).map(({ id }) => id)).toEqual(ids)
    expect(cancellations.cancelWhere(filter, 'requested')).toBe(ids.length)
    expect(aborted()).toEqual(ids)
  })

  test('are counted only where this call ended them', () => {
    const { cancellations, runs } = open()
    runs.a.cancel('client-gone')
    expect(cancellations.cancelWhere({}, 'shutting-down')).toBe(3)
    expect(cancellations.cancelWhere({}, 'shutting-down')).toBe(0)
    expect(runs.a.signal.reason).toMatchObject({ code: 'cancelled' })
    expect(runs.b.signal.reason).toMatchObject({ code: 'shutting-down' })
  })

  test('are listed until they end', () => {
    const { cancellations, runs } = open()
    expect(cancellations.list({ sessionId: 's1' })).toEqual([
      { id: 'a', owner: 'alice', sessionId: 's1', model: 'm1' },
      { id: 'b', owner: 'bob', sessionId: 's1', cancelId: 'mine' },
    ])
    for (const run of Object.values(runs)) run.close()
    expect(cancellations.list()).toEqual([])
  })
})
