import { describe, expect, test } from 'vitest'
import { Admission } from './admission.ts'

const never = new AbortController().signal

describe('Admission', () => {
  test('slots are given at once while there are any', async () => {
    const admission = new Admission({ slots: 2, maxQueued: 1 })
    await admission.acquire(never)
    await admission.acquire(never)
    expect(admission).toMatchObject({ busy: 2, queued: 0 })
  })

  test('those who wait get a slot in order of arrival', async () => {
    const admission = new Admission({ slots: 1, maxQueued: 5 })
    const order: number[] = []
    const held = await admission.acquire(never)
    const waiting = [1, 2, 3].map(async (index) => {
      const lease = await admission.acquire(never)
      order.push(index)
      lease.release()
    })
    held.release()
    await Promise.all(waiting)
    expect(order).toEqual([1, 2, 3])
    expect(admission).toMatchObject({ busy: 0, queued: 0 })
  })

  test('one more than may wait is refused at once, and told when to come back', async () => {
    const admission = new Admission({ slots: 1, maxQueued: 1 })
    await admission.acquire(never)
    void admission.acquire(never)
    await expect(admission.acquire(never)).rejects.toMatchObject({ code: 'queue-full', retryAfterMs: expect.any(Number) })
  })

  test('one who leaves the queue frees the place, and never gets a slot', async () => {
    const admission = new Admission({ slots: 1, maxQueued: 1 })
    const held = await admission.acquire(never)
    const controller = new AbortController()
    const leaving = admission.acquire(controller.signal)
    controller.abort(new Error('left'))
    await expect(leaving).rejects.toThrow('left')
    const next = admission.acquire(never)
    held.release()
    await next
    expect(admission).toMatchObject({ busy: 1, queued: 0 })
  })

  test('releasing twice frees one slot', async () => {
    const admission = new Admission({ slots: 1, maxQueued: 0 })
    const lease = await admission.acquire(never)
    lease.release()
    lease.release()
    expect(admission.busy).toBe(0)
  })

  test('a request that is already cancelled takes nothing', async () => {
    const admission = new Admission({ slots: 1, maxQueued: 0 })
    await expect(admission.acquire(AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
    expect(admission.busy).toBe(0)
  })
})
