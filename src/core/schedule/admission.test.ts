import { describe, expect, test } from 'vitest'
import { Admission } from './admission.ts'

const never = new AbortController().signal

describe('Admission', () => {
  test('slots are given at once while there are any', async () => {
    const admission = new Admission({ slots: 2, maxQueued: 1 })
    await admission.enter().takeSlot(never)
    await admission.enter().takeSlot(never)
    expect(admission).toMatchObject({ busy: 2, queued: 0 })
  })

  test('those who wait get a slot in the order of asking', async () => {
    const admission = new Admission({ slots: 1, maxQueued: 5 })
    const order: number[] = []
    const first = admission.enter()
    await first.takeSlot(never)
    const waiting = [1, 2, 3].map(async (index) => {
      const place = admission.enter()
      await place.takeSlot(never)
      order.push(index)
      place.leave()
    })
    expect(admission).toMatchObject({ busy: 1, queued: 3 })
    first.leave()
    await Promise.all(waiting)
    expect(order).toEqual([1, 2, 3])
    expect(admission).toMatchObject({ busy: 0, queued: 0 })
  })

  test('one more than there is room for is refused at once, and told when to come back', () => {
    const admission = new Admission({ slots: 1, maxQueued: 1 })
    admission.enter()
    admission.enter()
    expect(() => admission.enter()).toThrow(expect.objectContaining({ code: 'queue-full', retryAfterMs: 1000 }))
  })

  test('requests that wait for the model to load count as well', () => {
    const admission = new Admission({ slots: 1, maxQueued: 0 })
    const place = admission.enter()
    expect(() => admission.enter()).toThrow(expect.objectContaining({ code: 'queue-full' }))
    place.leave()
    admission.enter()
  })

  test('one who stops waiting frees the place, and never gets a slot', async () => {
    const admission = new Admission({ slots: 1, maxQueued: 1 })
    const holder = admission.enter()
    await holder.takeSlot(never)
    const controller = new AbortController()
    const leaving = admission.enter()
    const asked = leaving.takeSlot(controller.signal)
    controller.abort(new Error('left'))
    await expect(asked).rejects.toThrow('left')
    leaving.leave()
    const next = admission.enter()
    const granted = next.takeSlot(never)
    holder.leave()
    await granted
    expect(admission).toMatchObject({ busy: 1, queued: 0 })
  })

  test('leaving twice frees one slot', async () => {
    const admission = new Admission({ slots: 1, maxQueued: 0 })
    const place = admission.enter()
    await place.takeSlot(never)
    place.leave()
    place.leave()
    expect(admission).toMatchObject({ busy: 0, queued: 0 })
  })

  test('a request that is already cancelled takes no slot', async () => {
    const admission = new Admission({ slots: 1, maxQueued: 0 })
    await expect(admission.enter().takeSlot(AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
    expect(admission.busy).toBe(0)
  })
})
