import { describe, expect, test } from 'vitest'
import { createPool, endpoint, idOf, keys, ok, refused, take } from '../../../../test/support/upstream/pool.ts'
import { Pool } from './pool.ts'

describe('replicas that come and go', () => {
  const k = { affinityKeys: keys('k') }

  test('a new one gets requests, and a removed one no more, while its leases end', () => {
    const pool = createPool([1])
    const old = take(pool, 100, k)
    pool.add({ id: 'new', weight: 1 }, 0)
    expect(idOf(take(pool, 10))).toBe('new')
    pool.remove('0', 0)
    expect(idOf(take(pool, 10, k))).toBe('new')
    old.release(ok, 0)
    expect(pool.describe(0)).toMatchObject([{ id: 'new', outstandingTokens: 20 }])
    expect([pool.size, pool.has('0'), pool.has('new')]).toEqual([1, false, true])
    expect(() => pool.add({ id: 'new', weight: 1 }, 0)).toThrow('in the pool already')
  })

  test.each([
    { name: 'within a minute keeps its prefixes', backMs: 60_000, affinity: 'known' },
    { name: 'later is a new one', backMs: 60_001, affinity: 'new' },
  ])('an address that is back $name', ({ backMs, affinity }) => {
    const pool = createPool([1, 1])
    take(pool, 10, k).release(refused, 0)
    pool.remove('0', 0)
    pool.add({ id: '0', weight: 1 }, backMs)
    expect(pool.describe(backMs).find(({ id }) => id === '0')).toMatchObject({ breaker: 'closed', failures: 0 })
    expect(take(pool, 10, { ...k, nowMs: backMs }).affinity).toBe(affinity)
  })

  test('an empty pool, and one without a fit replica, say when to ask again', () => {
    const pool = createPool([1])
    const request = { nowMs: 50, tokens: 1, affinityKeys: [] }
    expect(pool.acquire({ ...request, unfit: new Set(['0']) })).toEqual({ type: 'none', retryAtMs: 1050 })
    pool.remove('0', 50)
    expect(pool.acquire({ ...request, failed: new Set() })).toEqual({ type: 'none', retryAtMs: 1050 })
    expect(pool.hasUsable(50)).toBe(false)
    expect(pool.stateOf('0', 50)).toBe('open')
  })

  test('one that drains gets no requests until it no longer drains', () => {
    const pool = createPool([1, 1])
    take(pool, 10, k).release(ok, 0)
    pool.setDraining('0', true, 0)
    expect(pool.describe(0)[0]).toMatchObject({ isDraining: true })
    expect(pool.isUsable('0', 0)).toBe(false)
    expect(take(pool, 10, k)).toMatchObject({ endpoint: { id: '1' }, affinity: 'moved' })
    expect(idOf(take(pool, 10))).toBe('1')
    pool.setDraining('1', true, 0)
    expect(pool.acquire({ nowMs: 0, tokens: 1, affinityKeys: [], failed: new Set() }).type).toBe('none')
    pool.setDraining('0', false, 0)
    expect(idOf(take(pool, 10))).toBe('0')
    expect(pool.describe(0)[0]).not.toHaveProperty('isDraining')
  })

  test('one whose weight grows gets a growing share', () => {
    const pool = createPool([1, 1])
    pool.setWeight('0', 0.1, 0)
    expect(pool.describe(0)[0]?.weight).toBe(0.1)
    const shareOf = (count: number) => {
      const leases = Array.from({ length: count }, () => take(pool, 10))
      for (const lease of leases) lease.release(ok, 0)
      return leases.filter((lease) => idOf(lease) === '0').length / count
    }
    expect(shareOf(110)).toBeCloseTo(0.1, 1)
    pool.setWeight('0', 1, 0)
    expect(shareOf(110)).toBeCloseTo(0.5, 1)
  })

  test('those that no probe has reached come last', () => {
    const pool = new Pool([endpoint('0'), endpoint('1')], { breaker: { random: () => 0.5 }, areKnown: false })
    pool.setKnown('1', 0)
    expect([take(pool, 10), take(pool, 10)].map(idOf)).toEqual(['1', '1'])
    expect(idOf(take(pool, 10, { avoid: new Set(['1']) }))).toBe('0')
    pool.setKnown('0', 0)
    expect(idOf(take(pool, 1))).toBe('0')
  })
})
