import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ThreadPool } from './thread-pool.ts'

const module = new URL('../../test/support/process/spinning-thread.mjs', import.meta.url)

describe('ThreadPool', () => {
  const pools: ThreadPool<number, number>[] = []
  const open = (timeoutMs = 60_000) => {
    const pool = new ThreadPool<number, number>({ module, timeoutMs, sliceMs: 50 })
    pools.push(pool)
    return pool
  }
  afterEach(async () => {
    await Promise.all(pools.splice(0).map((pool) => pool.close()))
  })

  test('answers each request with its own reply', async () => {
    const pool = open()
    expect(await Promise.all([3, 1, 2].map((ms) => pool.request(ms)))).toEqual([3, 1, 2])
  })

  test('work that was interrupted for others is done after them', async () => {
    const pool = open()
    const replies = await Promise.all([300, 301, 1, 302, 2].map((ms) => pool.request(ms)))
    expect(replies).toEqual([300, 301, 1, 302, 2])
  })

  describe('by a clock that only the test moves', () => {
    beforeEach(() => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    })
    afterEach(() => {
      vi.useRealTimers()
    })
    /** Work that runs has a timer for its limit; while others wait, there is one for the end of its slice. */
    const timersAre = async (count: number) => {
      while (vi.getTimerCount() !== count) await new Promise((resolve) => setImmediate(resolve))
    }

    test('short work overtakes six pieces of long work', async () => {
      const pool = open()
      const order: string[] = []
      const long = Array.from({ length: 6 }, () => pool.request(60_000).then(() => order.push('long')))
      const short = Array.from({ length: 3 }, () => pool.request(1).then((reply) => order.push(`short ${reply}`)))
      for (const _ of long.slice(1)) {
        await timersAre(3)
        vi.advanceTimersByTime(50)
      }
      await Promise.all(short)
      expect(order).toEqual(['short 1', 'short 1', 'short 1'])
    })

    test('work past the limit has no reply, and the next request is answered', async () => {
      const pool = open(100)
      const long = pool.request(60_000)
      await timersAre(1)
      vi.advanceTimersByTime(100)
      expect([await long, await pool.request(1)]).toEqual([undefined, 1])
    })

    test('work that was interrupted for others has all its time when it begins again', async () => {
      const pool = open()
      const ended: string[] = []
      const long = ['first', 'second'].map((name) => pool.request(3_600_000).then(() => ended.push(name)))
      await timersAre(2)
      const short = pool.request(1)
      vi.advanceTimersByTime(50)
      expect(await short).toBe(1)
      vi.advanceTimersByTime(60_000)
      await timersAre(1)
      expect(ended).toEqual(['first'])
      vi.advanceTimersByTime(60_000)
      await Promise.all(long)
    })
  })

  test('work that is aborted is dropped, waiting or running', async () => {
    const pool = open()
    const leaving = new AbortController()
    const left = [60_000, 60_000, 60_000].map((ms) => pool.request(ms, leaving.signal))
    leaving.abort()
    expect(await Promise.all([...left, pool.request(1, leaving.signal)])).toEqual([undefined, undefined, undefined, undefined])
    expect(await pool.request(1)).toBe(1)
  })

  test('a thread that fails has no reply, and the next request is answered', async () => {
    const pool = open()
    expect(await pool.request(-1)).toBeUndefined()
    expect(await pool.request(1)).toBe(1)
  })

  test('closing it answers everyone', async () => {
    const pool = open()
    const waiting = [60_000, 60_000, 60_000].map((ms) => pool.request(ms))
    await pool.close()
    expect(await Promise.all(waiting)).toEqual([undefined, undefined, undefined])
    expect(await pool.request(1)).toBeUndefined()
  })
})
