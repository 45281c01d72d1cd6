import { describe, expect, test } from 'vitest'
import { createPool, endpoint, idOf, keys, ok, take } from '../../../../../test/support/upstream/pool.ts'
import { Pool, type PoolEndpoint } from '../pool.ts'
import type { AffinityKey } from './affinity.ts'

test('a conversation returns to the replica that read its longest known prefix', () => {
  const pool = createPool([1, 1, 1])
  take(pool, 10, { affinityKeys: keys('system') }).release(ok, 0)
  take(pool, 10, { affinityKeys: keys('turn 1', 'other system') }).release(ok, 0)
  expect(take(pool, 10, { affinityKeys: keys('turn x', 'system') })).toMatchObject({ endpoint: { id: '0' }, affinity: 'known' })
  expect(idOf(take(pool, 10, { affinityKeys: keys('turn 3', 'turn 1', 'system') }))).toBe('1')
  expect(take(pool, 10, { affinityKeys: keys('unheard of') }).affinity).toBe('new')
  expect(take(pool, 10).affinity).toBeUndefined()
})

test('it moves when its replica has more load than one and a half times the mean and the request, and then stays there', () => {
  const pool = createPool([1, 1, 1, 1])
  const k = { affinityKeys: keys('k') }
  expect(idOf(take(pool, 100, k))).toBe('0')
  // 100 <= 1.5 * 25 + 100, then 200 > 1.5 * 50 + 100.
  expect(take(pool, 100, k)).toMatchObject({ endpoint: { id: '0' }, affinity: 'known' })
  expect(take(pool, 100, k)).toMatchObject({ endpoint: { id: '1' }, affinity: 'moved' })
  expect(take(pool, 10, k)).toMatchObject({ endpoint: { id: '1' }, affinity: 'known' })
})

test('a bound of its own, and load by weight', () => {
  const pool = createPool([1, 4], { bound: 10 })
  take(pool, 100, { affinityKeys: keys('k') })
  for (let count = 0; count < 5; count++) expect(idOf(take(pool, 100, { affinityKeys: keys('k') }))).toBe('0')
  const heavy = createPool([4, 1, 1])
  take(heavy, 100, { affinityKeys: keys('k') })
  expect(idOf(take(heavy, 100, { affinityKeys: keys('k') }))).toBe('0')
  // 200 / 4 <= 1.5 * 200 / 6 + 100 / 4
  expect(idOf(take(heavy, 100, { affinityKeys: keys('k') }))).toBe('0')
})

test('of several replicas that have read a prefix, the least loaded is chosen', () => {
  const pool = createPool([1, 1, 1])
  const k = { affinityKeys: keys('k') }
  take(pool, 1, { ...k, avoid: new Set(['1', '2']) }).release(ok, 0)
  take(pool, 1, { ...k, avoid: new Set(['0', '2']) }).release(ok, 0)
  const first = idOf(take(pool, 1000, k))
  expect(['0', '1']).toContain(first)
  expect(idOf(take(pool, 1000, k))).toBe(first === '0' ? '1' : '0')
})

test('a conversation that has left a replica without an answer returns only where no other may be used, or after five minutes', () => {
  const first = { affinityKeys: keys('turn 1', 'system') }
  const next = { affinityKeys: keys('turn 2', 'turn 1', 'system') }
  const pool = createPool([1, 1])
  const lost = take(pool, 10, first)
  lost.release({ type: 'neutral' }, 0)
  expect(idOf(lost)).toBe('0')
  lost.leave(0)
  // The repeated turn and the next one, on a replica with more load; another conversation with its system prompt stays.
  expect([first, next].map((turn) => idOf(take(pool, 10, turn)))).toEqual(['1', '1'])
  expect(idOf(take(pool, 10, { affinityKeys: keys('other', 'system') }))).toBe('0')
  expect(idOf(take(pool, 10, { ...first, unfit: new Set(['1']) }))).toBe('0')
  expect(idOf(take(pool, 10, { ...first, avoid: new Set(['1']), nowMs: 300_000 }))).toBe('0')
})

test('one whose last message is rewritten does not return either', () => {
  const pool = createPool([1, 1, 1])
  take(pool, 10, { affinityKeys: keys('turn 1', 'system') }).release(ok, 0)
  take(pool, 10, { affinityKeys: keys('turn 2', 'turn 1', 'system') }).leave(0)
  for (let count = 0; count < 3; count++)
    expect(idOf(take(pool, 10, { affinityKeys: keys('rewritten', 'turn 1', 'system') }))).not.toBe('0')
})

test('a prefix below a tenth of the prompt does not decide', () => {
  const pool = createPool([1, 1])
  const withShare = (share: number) => keys('k').map((key) => ({ ...key, share }))
  take(pool, 1, { affinityKeys: withShare(1) }).release(ok, 0)
  expect(take(pool, 1, { affinityKeys: withShare(0.09) })).toMatchObject({ endpoint: { id: '1' }, affinity: 'new' })
  expect(take(pool, 1, { affinityKeys: withShare(0.1) }).affinity).toBe('known')
})

test('a prompt that its replica has read costs what is new of it', () => {
  const pool = createPool([1, 1], { bound: 3 })
  const prompt = {
    promptTokens: 1000,
    affinityKeys: keys('longer', 'k').map((key, index) => ({ ...key, share: index === 0 ? 1 : 0.8 })),
  }
  take(pool, 1100, { promptTokens: 1000, affinityKeys: keys('k').map((key) => ({ ...key, share: 1 })) })
  expect(pool.describe(0)[0]?.outstandingTokens).toBe(1100)
  const lease = take(pool, 1100, prompt)
  expect(pool.describe(0)[0]?.outstandingTokens).toBe(1100 + 300)
  lease.release(ok, 0)
  expect(pool.describe(0)[0]?.outstandingTokens).toBe(1100)
})

describe('what replicas report about their caches', () => {
  const long = { promptTokens: 2000, affinityKeys: keys('k').map((key) => ({ ...key, share: 1 })) }
  const turn = (pool: Pool, cachedTokens: number) => {
    const lease = take(pool, 2000, long)
    lease.learn(2000, cachedTokens)
    lease.release(ok, 0)
    return lease
  }

  test('one that reports twice that it has lost a long prefix is forgotten', () => {
    const pool = createPool([1, 1])
    turn(pool, 0)
    expect([turn(pool, 1900), turn(pool, 0), turn(pool, 1900), turn(pool, 0)].map(idOf)).toEqual(['0', '0', '0', '0'])
    turn(pool, 0)
    expect(take(pool, 2000, long)).toMatchObject({ endpoint: { id: '1' }, affinity: 'new' })
  })

  test('one that never reports a cached token says nothing', () => {
    const pool = createPool([1, 1])
    expect([turn(pool, 0), turn(pool, 0), turn(pool, 0), turn(pool, 0)].map(idOf)).toEqual(['0', '0', '0', '0'])
  })
})

test('a router chooses by itself: what it has read is not remembered', () => {
  const routers = ['a', 'b'].map((id): PoolEndpoint => ({ ...endpoint(id), isRouter: true }))
  const pool = new Pool(routers, { breaker: { random: () => 0.5 } })
  const places = [1, 2].map(() => take(pool, 10, { affinityKeys: keys('k') }))
  expect(places.map(({ affinity }) => affinity)).toEqual([undefined, undefined])
  expect(places.map(idOf)).toEqual(['a', 'b'])
  pool.add(endpoint('server'), 0)
  expect(take(pool, 10, { affinityKeys: keys('k'), avoid: new Set(['server']) }).affinity).toBeUndefined()
  expect(take(pool, 1, { affinityKeys: keys('k') })).toMatchObject({ endpoint: { id: 'server' }, affinity: 'new' })
})

describe('several processes', () => {
  const conversation = (text: string, turns: number) => {
    const ends = Array.from({ length: turns }, (_, turn) => `${text} ${turns - turn}`)
    return keys(...ends, 'system').map(
      (key, index): AffinityKey => ({
        ...key,
        ...(index === turns - 1 && { isRoot: true }),
        ...(index === 1 && turns > 1 && { isPrevious: true }),
        ...(index > 1 && { isOld: true }),
      }),
    )
  }
  const processes = () => [1, 2, 3].map(() => createPool(Array.from({ length: 10 }, () => 1)))
  const texts = Array.from({ length: 50 }, (_, index) => `conversation ${index}`)

  test('send each turn of a conversation to the same replica, whichever gets it', () => {
    const pools = processes()
    for (const text of texts) {
      const places = [1, 2, 3, 4].map((turn) => {
        const lease = take(pools[turn % 3] as Pool, 10, { affinityKeys: conversation(text, turn) })
        lease.release(ok, 0)
        return lease
      })
      expect(new Set(places.map(idOf)).size).toBe(1)
      expect(places.slice(0, 3).map(({ affinity }) => affinity)).not.toContain('moved')
    }
  })

  test('remember where a conversation has moved, until another has sent its last request', () => {
    const [here, there] = processes() as [Pool, Pool]
    const home = idOf(take(here, 10, { affinityKeys: conversation('one', 1), avoid: new Set() }))
    const moved = take(here, 10, { affinityKeys: conversation('one', 2), avoid: new Set([home]) })
    moved.release(ok, 0)
    expect(idOf(moved)).not.toBe(home)
    expect(idOf(take(here, 10, { affinityKeys: conversation('one', 3) }))).toBe(idOf(moved))
    expect(idOf(take(there, 10, { affinityKeys: conversation('one', 4) }))).toBe(home)
  })

  test('send no new conversation to a replica that says that its memory is full', () => {
    const [pool] = processes() as [Pool]
    const home = idOf(take(pool, 10, { affinityKeys: conversation('one', 1) }))
    const [free] = processes() as [Pool]
    free.reportLoad(home, { waiting: 0, cacheUse: 0.95 }, 0)
    const first = take(free, 10, { affinityKeys: conversation('one', 1) })
    expect(idOf(first)).not.toBe(home)
    first.release(ok, 0)
    free.reportLoad(home, { waiting: 0, cacheUse: 0.5 }, 0)
    expect(idOf(take(free, 10, { affinityKeys: conversation('other', 1) }))).toBeDefined()
    expect(idOf(take(processes()[0] as Pool, 10, { affinityKeys: conversation('one', 1) }))).toBe(home)
  })
})
