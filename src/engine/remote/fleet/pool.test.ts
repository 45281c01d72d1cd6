import { describe, expect, test } from 'vitest'
import { createPool, failed, idOf, keys, ok, refused, take } from '../../../../test/support/upstream/pool.ts'
import { type Lease, Pool, type PoolEndpoint } from './pool.ts'

test('the least loaded is chosen, in tokens by weight', () => {
  const pool = createPool([1, 2])
  expect([take(pool, 100), take(pool, 100), take(pool, 60), take(pool, 10)].map(idOf)).toEqual(['0', '1', '1', '1'])
  // 100 against 170 / 2.
  expect(idOf(take(pool, 40))).toBe('1')
  expect(idOf(take(pool, 1))).toBe('0')
})

test('equals take turns', () => {
  const pool = createPool([1, 1, 1])
  const ids: string[] = []
  for (let count = 0; count < 6; count++) {
    const lease = take(pool, 10)
    ids.push(idOf(lease))
    lease.release(ok, 0)
  }
  expect(ids).toEqual(['0', '1', '2', '0', '1', '2'])
})

test('what the retry rule asks: which replicas are usable, and whether any other is', () => {
  const pool = createPool([1, 1, 1])
  const none = new Set<string>()
  take(pool, 1, { avoid: new Set(['1', '2']) }).release(refused, 0)
  take(pool, 1, { avoid: new Set(['0', '2']) }).release({ type: 'busy', retryAfterMs: 1000 }, 0)
  expect(['0', '1', '2', '3'].map((id) => pool.isUsable(id, 0))).toEqual([false, false, true, false])
  expect(['0', '1', '2', '3'].map((id) => pool.stateOf(id, 0))).toEqual(['open', 'closed', 'closed', 'open'])
  expect(pool.hasUsable(0, none, none)).toBe(true)
  expect(pool.hasUsable(0, new Set(['2']), none)).toBe(false)
  expect(pool.hasUsable(1000, none, new Set(['2']))).toBe(true)
  // Half-open, it is not usable in this sense: a trial decides.
  expect(pool.hasUsable(1000, new Set(['1']), new Set(['2']))).toBe(false)
})

test('a choice among a thousand replicas looks at no more than three times as many as one among ten', () => {
  expect(looksAmong(1000)).toBeLessThanOrEqual(3 * looksAmong(10))
})

/** How often the pool looks at replicas for a hundred requests, some of which have failed elsewhere, and their ends. */
function looksAmong(count: number): number {
  let looks = 0
  const endpoints = Array.from({ length: count }, (_, index) => ({
    weight: 1,
    get id() {
      looks += 1
      return `${index}`
    },
  }))
  const pool = new Pool(endpoints, { breaker: { random: () => 0.5 } })
  for (let index = 0; index < 2; index++) take(pool, 10, { avoid: new Set(['x']) }).release(refused, 0)
  const excepted = new Set(['5', '6'])
  looks = 0
  for (let index = 0; index < 100; index++) {
    const affinityKeys = keys(`${index % 50}`, 'system')
    const lease = take(pool, 10, { affinityKeys, avoid: excepted, unfit: new Set(['7']), failed: excepted })
    lease.confirm()
    pool.hasUsable(0, excepted)
    if (index % 2 === 0) lease.release(ok, 0)
    pool.checksDue(0)
  }
  return looks
}

test('a busy replica is avoided until its Retry-After, unless none is left', () => {
  const pool = createPool([1, 1])
  take(pool, 10, { affinityKeys: keys('k') }).release({ type: 'busy', retryAfterMs: 5000 }, 0)
  expect(idOf(take(pool, 10, { affinityKeys: keys('k') }))).toBe('1')
  expect(idOf(take(pool, 10))).toBe('1')
  expect(pool.describe(0)[0]).toMatchObject({ breaker: 'closed', retryAtMs: 5000 })
  take(pool, 10).release({ type: 'busy', retryAfterMs: 9000 }, 0)
  expect(idOf(take(pool, 10))).toBe('0')
  expect(idOf(take(pool, 10, { nowMs: 5000 }))).toBe('0')
})

test('a shorter Retry-After does not end a longer one', () => {
  const pool = createPool([1, 1])
  const to0 = () => take(pool, 10, { avoid: new Set(['1']) })
  const [first, second] = [to0(), to0()]
  first.release({ type: 'busy', retryAfterMs: 9000 }, 0)
  second.release({ type: 'busy', retryAfterMs: 1000 }, 100)
  pool.avoid('0', 2000, 100)
  expect([1100, 2000, 8999, 9000].map((nowMs) => pool.isUsable('0', nowMs))).toEqual([false, false, false, true])
})

test('an avoided replica is used only when no other may be', () => {
  const pool = createPool([1, 1])
  const avoid = new Set(['0'])
  expect([take(pool, 9, { avoid }), take(pool, 9, { avoid })].map(idOf)).toEqual(['1', '1'])
  take(pool, 9, { avoid }).release(refused, 0)
  expect(idOf(take(pool, 9, { avoid }))).toBe('0')
})

test('an unfit replica is never used, even while all others are down', () => {
  const pool = createPool([1, 1])
  const unfit = new Set(['0'])
  take(pool, 9, { unfit }).release(refused, 0)
  expect(pool.acquire({ nowMs: 0, tokens: 1, affinityKeys: [], unfit })).toEqual({ type: 'none', retryAtMs: expect.any(Number) })
  expect(idOf(take(pool, 9))).toBe('0')
})

test('an open breaker takes a replica out; when all are open, the pool says when to retry', () => {
  const pool = createPool([1, 1])
  for (let count = 0; count < 3; count++) take(pool, 1, { avoid: new Set(['1']) }).release(failed, 0)
  expect(pool.describe(0)[0]).toMatchObject({ breaker: 'open', failures: 3, lastFailure: 'status 500' })
  const lease = take(pool, 1)
  expect(idOf(lease)).toBe('1')
  lease.release(refused, 100)
  expect(pool.acquire({ nowMs: 100, tokens: 1, affinityKeys: [] })).toEqual({ type: 'none', retryAtMs: 750 })
  const trial = take(pool, 1, { nowMs: 750 })
  expect(idOf(trial)).toBe('0')
  expect(pool.acquire({ nowMs: 800, tokens: 1, affinityKeys: [] })).toEqual({ type: 'none', retryAtMs: 850 })
  trial.confirm()
  expect(idOf(take(pool, 1, { nowMs: 800 }))).toBe('0')
})

test('a request that no replica has failed is never kept waiting by what others met', () => {
  const pool = createPool([1, 1])
  take(pool, 1, { affinityKeys: keys('k') }).release(refused, 0)
  take(pool, 1).release(refused, 0)
  expect(pool.acquire({ nowMs: 0, tokens: 1, affinityKeys: [] }).type).toBe('none')
  const fresh = { affinityKeys: keys('k'), failed: new Set<string>() }
  expect(idOf(take(pool, 1, fresh))).toBe('0')
  expect(idOf(take(pool, 1, { ...fresh, failed: new Set(['0']) }))).toBe('1')
  expect(pool.acquire({ nowMs: 0, tokens: 1, ...fresh, failed: new Set(['0', '1']) }).type).toBe('none')
  expect(pool.acquire({ nowMs: 0, tokens: 1, ...fresh, failed: new Set(['0']), unfit: new Set(['1']) }).type).toBe('none')
  take(pool, 1, { ...fresh, failed: new Set(['0']) }).release(ok, 0)
  expect(pool.describe(0).map(({ breaker }) => breaker)).toEqual(['open', 'closed'])
})

test('only the first release counts', () => {
  const pool = createPool([1])
  const lease = take(pool, 10)
  lease.release({ type: 'neutral' }, 0)
  lease.release(refused, 0)
  expect(pool.describe(0)).toEqual([
    { id: '0', weight: 1, breaker: 'closed', failures: 0, activeRequests: 0, outstandingTokens: 0 },
  ])
})

test('checks are due after a while without a success, and more often while a replica is down', () => {
  const pool = createPool([1, 1])
  const due = (nowMs: number) => pool.checksDue(nowMs).map(({ id }) => id)
  expect(due(0)).toEqual(['0', '1'])
  expect(due(0)).toEqual([])
  pool.reportCheck('0', true, 10)
  pool.reportCheck('1', true, 10)
  take(pool, 1, { avoid: new Set(['1']) }).release(ok, 5000)
  expect(due(10_010)).toEqual(['1'])
  take(pool, 1, { avoid: new Set(['1']) }).release(refused, 10_010)
  expect(due(10_010)).toEqual(['0'])
  pool.reportCheck('0', false, 10_020)
  expect(due(11_019)).toEqual([])
  expect(due(11_020)).toEqual(['0'])
  pool.reportCheck('0', true, 11_021)
  expect(pool.describe(11_021)[0]?.breaker).toBe('half-open')
})

test('an endpoint is returned as it was passed in', () => {
  const pool = new Pool([{ id: 'a', weight: 1, url: 'u' }], { breaker: { random: () => 0 } })
  const lease = pool.acquire({ nowMs: 0, tokens: 1, affinityKeys: [] })
  expect(lease.type === 'lease' && lease.endpoint.url).toBe('u')
})

test("what an endpoint says of other processes' requests counts as its load", () => {
  const pool = createPool([1, 1])
  take(pool, 100).release(ok, 0)
  pool.reportLoad('1', { running: 3, waiting: 1 }, 0)
  expect([take(pool, 100), take(pool, 100), take(pool, 100)].map(idOf)).toEqual(['0', '0', '0'])
  // Its own three are among these.
  pool.reportLoad('0', { running: 3, waiting: 0 }, 0)
  expect(idOf(take(pool, 100))).toBe('0')
  pool.reportLoad('1', { waiting: 0 }, 0)
  expect(idOf(take(pool, 100))).toBe('1')
})

describe('of servers in two zones', () => {
  const zones = (near: number, far: number) =>
    new Pool(
      Array.from({ length: near + far }, (_, index) => {
        return index < near ? { id: `near ${index}`, weight: 1 } : { id: `far ${index}`, weight: 1, isFar: true as const }
      }),
      { breaker: { random: () => 0.5 } },
    )
  const isNear = (lease: Lease<PoolEndpoint>) => idOf(lease).startsWith('near')

  test('those of this zone are preferred, until they have several times the load of all', () => {
    const few = zones(2, 8)
    const placed = Array.from({ length: 60 }, () => isNear(take(few, 100)))
    expect(placed.slice(0, 10)).not.toContain(false)
    const near = placed.filter((one) => one).length
    expect(near).toBeGreaterThan(40)
    expect(near).toBeLessThan(52)
    const many = zones(5, 5)
    expect(Array.from({ length: 60 }, () => isNear(take(many, 100)))).not.toContain(false)
  })

  test('a conversation belongs to a server of this zone, and stays with another that has its prompt', () => {
    const pool = zones(2, 8)
    for (let index = 0; index < 20; index++) {
      const root = keys(`conversation ${index}`).map((key) => ({ ...key, isRoot: true as const }))
      const lease = take(pool, 100, { affinityKeys: root })
      expect(isNear(lease)).toBe(true)
      lease.release(ok, 0)
    }
    const affinityKeys = keys('moved')
    const moved = take(pool, 100, { affinityKeys, avoid: new Set(['near 0', 'near 1']) })
    moved.release(ok, 0)
    expect(idOf(take(pool, 100, { affinityKeys }))).toBe(idOf(moved))
  })

  test('one that reports waiting requests has no room, while there are others', () => {
    const pool = zones(1, 1)
    take(pool, 100).release(ok, 0)
    pool.reportLoad('near 0', { running: 0, waiting: 0 }, 0)
    expect(isNear(take(pool, 100))).toBe(true)
    pool.reportLoad('near 0', { running: 1, waiting: 1 }, 0)
    expect(isNear(take(pool, 100))).toBe(false)
  })

  test('one that may be used at all is used, wherever it is, and where it is may change', () => {
    const pool = zones(1, 1)
    expect(isNear(take(pool, 100, { unfit: new Set(['near 0']) }))).toBe(false)
    pool.setFar('near 0', true, 0)
    pool.setFar('far 1', false, 0)
    expect(Array.from({ length: 4 }, () => isNear(take(pool, 1)))).toEqual([false, false, false, false])
  })
})
