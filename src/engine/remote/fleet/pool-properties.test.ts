import fc from 'fast-check'
import { expect, test } from 'vitest'
import { roundsOf } from '../../../../test/support/process/soak-length.ts'
import { createPool, endpoint, failed, keys, ok, refused } from '../../../../test/support/upstream/pool.ts'
import type { Lease, PoolEndpoint, RequestOutcome } from './pool.ts'

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
    { numRuns: roundsOf(200, 1000) },
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
    { numRuns: roundsOf(100, 500) },
  )
})
