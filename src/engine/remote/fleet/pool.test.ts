import fc from 'fast-check'
import { expect, test } from 'vitest'
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
  take(pool, 10, { affinityKeys: ['system'] }).release(ok, 0)
  take(pool, 10, { affinityKeys: ['turn 1', 'other system'] }).release(ok, 0)
  expect(idOf(take(pool, 10, { affinityKeys: ['turn x', 'system'] }))).toBe('0')
  expect(idOf(take(pool, 10, { affinityKeys: ['turn 3', 'turn 1', 'system'] }))).toBe('1')
})

test('it spills over when its replica has too much load, and then stays there', () => {
  const pool = createPool([1, 1], { spillOverTokens: 100 })
  const keys = { affinityKeys: ['k'] }
  expect(idOf(take(pool, 100, keys))).toBe('0')
  expect(idOf(take(pool, 1, keys))).toBe('0')
  expect(idOf(take(pool, 1, keys))).toBe('1')
  expect(idOf(take(pool, 1, keys))).toBe('1')
})

test('least recently used prefixes are evicted first', () => {
  const pool = createPool([1, 1], { maxAffinityKeys: 2 })
  take(pool, 1, { affinityKeys: ['a'] }).release(ok, 0)
  take(pool, 1, { affinityKeys: ['b'] }).release(ok, 0)
  take(pool, 1, { affinityKeys: ['a'] }).release(ok, 0)
  take(pool, 1, { affinityKeys: ['c'] }).release(ok, 0)
  // b was evicted, so that replica 0 has its turn; a is still known.
  expect(idOf(take(pool, 1, { affinityKeys: ['a'] }))).toBe('0')
  expect(pool.describe(0)[0]?.activeRequests).toBe(1)
  expect(idOf(take(pool, 1, { affinityKeys: ['b'] }))).toBe('1')
})

test('a busy replica is avoided until its Retry-After, unless none is left', () => {
  const pool = createPool([1, 1])
  take(pool, 10, { affinityKeys: ['k'] }).release({ type: 'busy', retryAfterMs: 5000 }, 0)
  expect(idOf(take(pool, 10, { affinityKeys: ['k'] }))).toBe('1')
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
  take(pool, 1, { affinityKeys: ['k'] }).release(refused, 0)
  take(pool, 1).release(refused, 0)
  expect(pool.acquire({ nowMs: 0, tokens: 1, affinityKeys: [] }).type).toBe('none')
  const fresh = { affinityKeys: ['k'], failed: new Set<string>() }
  expect(idOf(take(pool, 1, fresh))).toBe('0')
  expect(idOf(take(pool, 1, { ...fresh, failed: new Set(['0']) }))).toBe('1')
  expect(pool.acquire({ nowMs: 0, tokens: 1, ...fresh, failed: new Set(['0', '1']) }).type).toBe('none')
  expect(pool.acquire({ nowMs: 0, tokens: 1, ...fresh, failed: new Set(['0']), unfit: new Set(['1']) }).type).toBe('none')
  // Its conversation is at the other one by now.
  take(pool, 1, fresh).release(ok, 0)
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
          const affinityKeys = keyCount === 0 ? [] : [`${index % keyCount}`]
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

function createPool(weights: number[], options: { spillOverTokens?: number; maxAffinityKeys?: number } = {}) {
  return new Pool(
    weights.map((weight, index) => ({ id: `${index}`, weight })),
    { breaker: { random: () => 0.5 }, ...options },
  )
}

function take(pool: Pool, tokens: number, request: Partial<AcquireRequest> = {}): Lease<PoolEndpoint> {
  const lease = pool.acquire({ nowMs: 0, affinityKeys: [], ...request, tokens })
  if (lease.type === 'none') throw new Error('no lease')
  return lease
}

function idOf(lease: Lease<PoolEndpoint>): string {
  return lease.endpoint.id
}
