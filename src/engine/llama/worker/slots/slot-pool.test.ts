import { describe, expect, test } from 'vitest'
import { SlotPool } from './slot-pool.ts'

const prompt = { owner: 'anna', tokens: [1, 2, 3] }
const anna = { name: 'anna' }
const ben = { name: 'ben' }
const cleo = { name: 'cleo' }

function createSlots(count: number) {
  return Array.from({ length: count }, (_, at) => ({
    at,
    busy: false,
    lastUsed: 0,
    sequence: { contextTokens: [], reusable: (shared: number) => shared },
  }))
}

/** A promise, and whether it has come yet. */
function watch<T>(promise: Promise<T>): { readonly promise: Promise<T>; isHere: boolean } {
  const watched = { promise, isHere: false }
  void promise.then(() => {
    watched.isHere = true
  })
  return watched
}

describe('SlotPool', () => {
  test('a free slot is taken immediately, and is free again when it is given back', async () => {
    const slots = createSlots(1)
    const pool = new SlotPool(slots)
    const lease = await pool.take(anna, prompt)
    expect(lease).toMatchObject({ slot: { at: 0, busy: true }, isRecalled: false })
    lease.giveBack()
    lease.giveBack()
    expect(slots[0]?.busy).toBe(false)
    expect((await pool.take(ben, prompt)).slot.at).toBe(0)
  })

  test('free slots can be borrowed, up to the last one', async () => {
    const pool = new SlotPool(createSlots(3))
    await pool.take(anna, prompt)
    expect(pool.borrow(anna, prompt)).toBeDefined()
    expect(pool.borrow(anna, prompt)).toBeDefined()
    expect(pool.borrow(anna, prompt)).toBeUndefined()
  })

  test('a new holder gets a borrowed slot when it is given back; the only slot of a holder is never recalled', async () => {
    const pool = new SlotPool(createSlots(2))
    const own = await pool.take(anna, prompt)
    const borrowed = pool.borrow(anna, prompt)
    const coming = watch(pool.take(ben, prompt))
    await borrowed?.whenRecalled
    expect([own.isRecalled, borrowed?.isRecalled, coming.isHere]).toEqual([false, true, false])
    borrowed?.giveBack()
    expect((await coming.promise).slot).toBe(borrowed?.slot)
    expect(own.isRecalled).toBe(false)
  })

  test('the first slot that is given back goes to the longest waiter', async () => {
    const pool = new SlotPool(createSlots(3))
    const own = await pool.take(anna, prompt)
    const borrowed = [pool.borrow(anna, prompt), pool.borrow(anna, prompt)]
    const first = watch(pool.take(ben, prompt))
    const second = watch(pool.take(cleo, prompt))
    expect(borrowed.map((lease) => lease?.isRecalled)).toEqual([true, true])
    own.giveBack()
    expect((await first.promise).slot).toBe(own.slot)
    expect(second.isHere).toBe(false)
    borrowed[0]?.giveBack()
    expect((await second.promise).slot).toBe(borrowed[0]?.slot)
  })

  test('a holder that gave back all of its slots can take one again', async () => {
    const pool = new SlotPool(createSlots(3))
    const own = await pool.take(anna, prompt)
    const borrowed = pool.borrow(anna, prompt)
    const bens = await pool.take(ben, prompt)
    const cleos = watch(pool.take(cleo, prompt))
    own.giveBack()
    await cleos.promise
    // It was recalled for a holder that has a slot by now.
    expect(borrowed?.isRecalled).toBe(true)
    borrowed?.giveBack()
    expect((await pool.take(anna, prompt)).slot).toBe(borrowed?.slot)
    bens.giveBack()
  })

  test('listeners are called for a free slot, but holders without a slot come first', async () => {
    const pool = new SlotPool(createSlots(2))
    await pool.take(anna, prompt)
    const borrowed = pool.borrow(anna, prompt)
    let heard = 0
    const stop = pool.onFree(() => {
      heard += 1
    })
    const bens = pool.take(ben, prompt)
    borrowed?.giveBack()
    expect(heard).toBe(0)
    const taken = await bens
    taken.giveBack()
    expect(heard).toBe(1)
    stop()
    ;(await pool.take(ben, prompt)).giveBack()
    expect(heard).toBe(1)
  })

  test('more holders than slots is an internal error', async () => {
    const pool = new SlotPool(createSlots(1))
    await pool.take(anna, prompt)
    await expect(pool.take(ben, prompt)).rejects.toMatchObject({ code: 'internal' })
  })
})
