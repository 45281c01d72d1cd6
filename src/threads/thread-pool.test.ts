import { afterEach, describe, expect, test } from 'vitest'
import { ThreadPool } from './thread-pool.ts'

const module = new URL('../../test/support/process/spinning-thread.mjs', import.meta.url)

describe('ThreadPool', () => {
  const pools: ThreadPool<number, number>[] = []
  const open = (timeoutMs = 5000) => {
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

  test('short work overtakes six pieces of long work', async () => {
    const pool = open(60_000)
    const order: string[] = []
    const long = Array.from({ length: 6 }, () => pool.request(60_000).then(() => order.push('long')))
    const short = Array.from({ length: 3 }, () => pool.request(1).then((reply) => order.push(`short ${reply}`)))
    await Promise.all(short)
    expect(order).toEqual(['short 1', 'short 1', 'short 1'])
    expect(long).toHaveLength(6)
  })

  test('work that was interrupted for others is done after them', async () => {
    const pool = open()
    const replies = await Promise.all([300, 301, 1, 302, 2].map((ms) => pool.request(ms)))
    expect(replies).toEqual([300, 301, 1, 302, 2])
  })

  test('work past the time limit has no reply, and the next request is answered', async () => {
    const pool = open(100)
    expect(await Promise.all([pool.request(60_000), pool.request(1)])).toEqual([undefined, 1])
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
