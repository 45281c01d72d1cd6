import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AffinityKey, AffinityOptions } from './affinity/affinity.ts'
import { type AcquireRequest, type Lease, Pool, type PoolEndpoint, type RequestOutcome } from './pool.ts'

const ok: RequestOutcome = { type: 'ok' }
const failed: RequestOutcome = { type: 'failed', reason: 'status 500' }
const refused: RequestOutcome = { type: 'failed', reason: 'connection refused', isRefused: true }

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

test('a conversation returns to the replica that read its longest known prefix', () => {
  const pool = createPool([1, 1, 1])
  take(pool, 10, { affinityKeys: keys('system') }).release(ok, 0)
  take(pool, 10, { affinityKeys: keys('turn 1', 'other system') }).release(ok, 0)
  expect(take(pool, 10, { affinityKeys: keys('turn x', 'system') })).toMatchObject({ endpoint: { id: '0' }, affinity: 'hit' })
  expect(idOf(take(pool, 10, { affinityKeys: keys('turn 3', 'turn 1', 'system') }))).toBe('1')
  expect(take(pool, 10, { affinityKeys: keys('unheard of') }).affinity).toBe('new')
  expect(take(pool, 10).affinity).toBeUndefined()
})

test('it moves when its replica has more load than one and a half times the mean and the request, and then stays there', () => {
  const pool = createPool([1, 1, 1, 1])
  const k = { affinityKeys: keys('k') }
  expect(idOf(take(pool, 100, k))).toBe('0')
  // 100 <= 1.5 * 25 + 100, then 200 > 1.5 * 50 + 100.
  expect(take(pool, 100, k)).toMatchObject({ endpoint: { id: '0' }, affinity: 'hit' })
  expect(take(pool, 100, k)).toMatchObject({ endpoint: { id: '1' }, affinity: 'moved' })
  expect(take(pool, 10, k)).toMatchObject({ endpoint: { id: '1' }, affinity: 'hit' })
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

test('a prefix below a tenth of the prompt does not decide', () => {
  const pool = createPool([1, 1])
  const withShare = (share: number) => keys('k').map((key) => ({ ...key, share }))
  take(pool, 1, { affinityKeys: withShare(1) }).release(ok, 0)
  expect(take(pool, 1, { affinityKeys: withShare(0.09) })).toMatchObject({ endpoint: { id: '1' }, affinity: 'new' })
  expect(take(pool, 1, { affinityKeys: withShare(0.1) }).affinity).toBe('hit')
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
    { name: 'within a minute keeps its prefixes', backMs: 60_000, affinity: 'hit' },
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

const outcome = fc.constantFrom<RequestOutcome>(ok, failed, refused, { type: 'neutral' }, { type: 'busy', retryAfterMs: 700 })
const step = fc.record({
  type: fc.constantFrom('acquire', 'acquire', 'release', 'confirm', 'check'),
  outcome,
  index: fc.nat(20),
  tokens: fc.nat(5000),
  waitMs: fc.constantFrom(0, 1, 100, 1000, 31_000),
  avoided: fc.subarray(['0', '1', '2']),
})

test('in any sequence no open replica is chosen, there is at most one trial, and all loads end at zero', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), fc.nat(3), (steps, keyCount) => {
      const pool = createPool([1, 2, 0.5])
      const leases: Lease<PoolEndpoint>[] = []
      const trials = new Map<string, Lease<PoolEndpoint>>()
      let nowMs = 0
      for (const { type, outcome, index, tokens, waitMs, avoided } of steps) {
        nowMs += waitMs
        const before = new Map(pool.describe(nowMs).map((report) => [report.id, report]))
        const lease = leases[index % Math.max(1, leases.length)]
        if (type === 'acquire') {
          const affinityKeys = keyCount === 0 ? [] : keys(`${index % keyCount}`)
          const taken = pool.acquire({ nowMs, tokens, affinityKeys, avoid: new Set(avoided) })
          const states = [...before.values()]
          if (taken.type === 'none') {
            expect(states.every(({ breaker }) => breaker !== 'closed')).toBe(true)
            expect(taken.retryAtMs).toBeGreaterThan(nowMs)
          } else {
            const report = before.get(taken.endpoint.id)
            expect(report?.breaker).not.toBe('open')
            const hasBetter = states.some(({ id, retryAtMs }) => retryAtMs === undefined && !avoided.includes(id))
            if (hasBetter) expect(report?.retryAtMs === undefined && !avoided.includes(taken.endpoint.id)).toBe(true)
            leases.push(taken)
            if (report?.breaker === 'half-open') {
              expect(trials.has(taken.endpoint.id)).toBe(false)
              trials.set(taken.endpoint.id, taken)
            }
          }
        } else if (type === 'check') {
          for (const { id } of pool.checksDue(nowMs)) pool.reportCheck(id, outcome.type === 'ok', nowMs)
        } else if (lease !== undefined && type === 'confirm') lease.confirm()
        else if (lease !== undefined) {
          leases.splice(leases.indexOf(lease), 1)
          lease.release(outcome, nowMs)
          if (trials.get(lease.endpoint.id) === lease) trials.delete(lease.endpoint.id)
        }
        for (const { id, breaker } of pool.describe(nowMs)) if (breaker === 'closed') trials.delete(id)
      }
      for (const lease of leases) lease.release(ok, nowMs)
      expect(pool.describe(nowMs).map((report) => [report.activeRequests, report.outstandingTokens])).toEqual([
        [0, 0],
        [0, 0],
        [0, 0],
      ])
    }),
    { numRuns: 1000 },
  )
})

const change = fc.record({
  type: fc.constantFrom('acquire', 'acquire', 'acquire', 'release', 'add', 'remove', 'drain', 'use', 'weight'),
  id: fc.constantFrom('0', '1', '2', '3', '4'),
  outcome,
  index: fc.nat(20),
  tokens: fc.nat(5000),
  waitMs: fc.constantFrom(0, 1, 1000, 31_000),
})

test('after any change of the set, the least loaded that may be used is chosen, and leases of those that left end as usual', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 80 }), (changes) => {
      const pool = createPool([1, 2])
      const leases: Lease<PoolEndpoint>[] = []
      let nowMs = 0
      for (const { type, id, outcome, index, tokens, waitMs } of changes) {
        nowMs += waitMs
        const usable = pool.describe(nowMs).filter(({ retryAtMs, isDraining }) => retryAtMs === undefined && isDraining !== true)
        const lease = leases[index % Math.max(1, leases.length)]
        if (type === 'acquire') {
          const taken = pool.acquire({ nowMs, tokens, affinityKeys: [] })
          if (taken.type === 'lease') leases.push(taken)
          if (usable.length === 0) continue
          const loads = new Map(usable.map((report) => [report.id, report.outstandingTokens / report.weight]))
          expect(taken.type === 'lease' && loads.get(taken.endpoint.id)).toBe(Math.min(...loads.values()))
        } else if (type === 'release' && lease !== undefined) {
          leases.splice(leases.indexOf(lease), 1)
          lease.release(outcome, nowMs)
        } else if (type === 'add' && !pool.has(id)) pool.add(endpoint(id), nowMs)
        else if (type === 'remove') pool.remove(id, nowMs)
        else if (type === 'drain' || type === 'use') pool.setDraining(id, type === 'drain', nowMs)
        else if (type === 'weight') pool.setWeight(id, 0.1 + index, nowMs)
        expect(pool.hasUsable(nowMs)).toBe(pool.describe(nowMs).some((report) => pool.isUsable(report.id, nowMs)))
      }
      for (const lease of leases) lease.release(ok, nowMs)
      expect(pool.describe(nowMs).every((report) => report.activeRequests === 0 && report.outstandingTokens === 0)).toBe(true)
    }),
    { numRuns: 500 },
  )
})

function createPool(weights: number[], affinity: AffinityOptions = {}) {
  return new Pool(
    weights.map((weight, index) => endpoint(`${index}`, weight)),
    { breaker: { random: () => 0.5 }, affinity },
  )
}

function endpoint(id: string, weight = 1): PoolEndpoint {
  return { id, weight }
}

/** A key for each text. */
function keys(...texts: string[]): AffinityKey[] {
  return texts.map((text) => {
    const digest = createHash('sha1').update(text).digest()
    return { high: digest.readUInt32LE(0), low: digest.readUInt32LE(4), share: 0.5 }
  })
}

function take(pool: Pool, tokens: number, request: Partial<AcquireRequest> = {}): Lease<PoolEndpoint> {
  const lease = pool.acquire({ nowMs: 0, affinityKeys: [], ...request, tokens })
  if (lease.type === 'none') throw new Error('no lease')
  return lease
}

function idOf(lease: Lease<PoolEndpoint>): string {
  return lease.endpoint.id
}
