import { describe, expect, test } from 'vitest'
import { WatchedSet } from '../../../../base/watched-set.ts'
import { Pool } from '../pool.ts'
import { Shares, type WarmUp, warmUpShare } from './shares.ts'

const slow: WarmUp = { ms: 30_000, from: 0.1 }

test.each([
  [0, 0.1],
  [15_000, 0.55],
  [30_000, 1],
  [90_000, 1],
])('%i ms after its return, a replica has %d of its weight', (elapsedMs, expected) => {
  expect(warmUpShare(elapsedMs, slow)).toBeCloseTo(expected, 10)
})

const endpoint = (id: string, weight = 1) => ({ id, url: `http://${id}/v1`, weight })

/** Replicas in a pool, with their shares and a clock. */
function fleet(ids: readonly string[], warmUp: WarmUp | 'off' = slow) {
  const clock = { nowMs: 0 }
  const pool = new Pool(
    ids.map((id) => endpoint(id)),
    {
      breaker: { random: () => 0.5 },
      onEjected: ({ id }, reason) => shares.ejected(id, reason),
    },
  )
  const drains = new WatchedSet<string>()
  const shares = new Shares({ pool, drains, warmUp: warmUp === 'off' ? undefined : warmUp, now: () => clock.nowMs })
  for (const id of ids) shares.added(endpoint(id), false)
  const join = (id: string, weight = 1) => {
    pool.add(endpoint(id, weight), clock.nowMs)
    shares.added(endpoint(id, weight), true)
    shares.reached(id)
  }
  const weightOf = (id: string) => pool.describe(clock.nowMs).find((one) => one.id === id)?.weight
  const pass = (ms: number) => {
    for (const endMs = clock.nowMs + ms; clock.nowMs < endMs; ) {
      clock.nowMs += 1000
      shares.tick()
    }
  }
  return { clock, pool, drains, shares, join, weightOf, pass }
}

describe('slow start', () => {
  test('a new replica gets its share little by little; the first ones have theirs immediately', () => {
    const { join, weightOf, pass } = fleet(['a', 'b'])
    join('c', 2)
    expect(['a', 'b', 'c'].map(weightOf)).toEqual([1, 1, 0.2])
    pass(1000)
    pass(15_000)
    expect(weightOf('c')).toBeCloseTo(1.1, 10)
    pass(15_000)
    expect(weightOf('c')).toBe(2)
  })

  test('it begins when a probe has reached the replica', () => {
    const { pool, shares, weightOf, pass } = fleet(['a'])
    pool.add(endpoint('b'), 0)
    shares.added(endpoint('b'), true)
    pass(60_000)
    expect(weightOf('b')).toBe(0.1)
    shares.reached('b')
    pass(16_000)
    expect(weightOf('b')).toBeCloseTo(0.55, 10)
  })

  test('a replica that could not be reached begins anew when its breaker closes', () => {
    const { clock, pool, weightOf, pass } = fleet(['a', 'b'])
    for (let check = 0; check < 3; check++) pool.reportCheck('b', false, clock.nowMs)
    pass(60_000)
    expect(weightOf('b')).toBe(0.1)
    pool.reportCheck('b', true, clock.nowMs)
    const lease = pool.acquire({ nowMs: clock.nowMs, tokens: 1, affinityKeys: [], unfit: new Set(['a']) })
    if (lease.type === 'lease') lease.release({ type: 'ok' }, clock.nowMs)
    pass(31_000)
    expect(weightOf('b')).toBe(1)
  })

  test('one that failed requests has kept its cache, and its share', () => {
    const { clock, pool, weightOf } = fleet(['a', 'b'])
    for (let failure = 0; failure < 3; failure++) {
      const lease = pool.acquire({ nowMs: clock.nowMs, tokens: 1, affinityKeys: [], unfit: new Set(['a']) })
      if (lease.type === 'lease') lease.release({ type: 'failed', reason: 'status 500' }, clock.nowMs)
    }
    expect(pool.stateOf('b', clock.nowMs)).toBe('open')
    expect(weightOf('b')).toBe(1)
  })

  test('another weight counts from the next moment on', () => {
    const { join, shares, weightOf, pass } = fleet(['a'])
    join('b')
    shares.changed(endpoint('b', 4))
    shares.changed(endpoint('a', 3))
    expect(['a', 'b'].map(weightOf)).toEqual([3, 0.4])
    pass(31_000)
    expect(weightOf('b')).toBe(4)
  })

  test('where it is off, a new replica has its share immediately', () => {
    const { join, weightOf } = fleet(['a'], 'off')
    join('b')
    expect(weightOf('b')).toBe(1)
  })

  test('a tenth of 500 requests a second goes to the new replica, as its share says, within 20 %', () => {
    const { clock, pool, join, shares } = fleet([...'abcdefghi'])
    const running: { readonly endMs: number; release(): void }[] = []
    const sentTo = (id: string, sent: readonly string[]) => sent.filter((one) => one === id).length
    const serve = (ms: number): readonly string[] => {
      const sent: string[] = []
      for (const endMs = clock.nowMs + ms; clock.nowMs < endMs; clock.nowMs += 2) {
        if (clock.nowMs % 1000 === 0) shares.tick()
        while ((running[0]?.endMs ?? Number.POSITIVE_INFINITY) <= clock.nowMs) running.shift()?.release()
        const lease = pool.acquire({ nowMs: clock.nowMs, tokens: 1000, affinityKeys: [] })
        if (lease.type !== 'lease') throw new Error('all of them are healthy')
        sent.push(lease.endpoint.id)
        running.push({ endMs: clock.nowMs + 1000, release: () => lease.release({ type: 'ok' }, clock.nowMs) })
      }
      return sent
    }
    serve(10_000)
    join('j')
    // The share of the moment, among nine whole ones, added up.
    const expected = (fromMs: number, toMs: number) => {
      let sum = 0
      for (let ms = fromMs; ms < toMs; ms += 2) sum += warmUpShare(ms, slow) / (9 + warmUpShare(ms, slow))
      return sum
    }
    for (const [fromMs, toMs] of [
      [0, 10_000],
      [10_000, 20_000],
      [20_000, 30_000],
      [30_000, 40_000],
    ] as const) {
      const ratio = sentTo('j', serve(toMs - fromMs)) / expected(fromMs, toMs)
      expect(ratio, `${fromMs} to ${toMs} ms`).toBeGreaterThan(0.8)
      expect(ratio, `${fromMs} to ${toMs} ms`).toBeLessThan(1.2)
    }
  })
})

describe('draining', () => {
  test('a replica that drains gets no request, and its running ones end as usual', () => {
    const { clock, pool, drains } = fleet(['a', 'b'])
    const running = pool.acquire({ nowMs: 0, tokens: 1, affinityKeys: [], unfit: new Set(['b']) })
    drains.set('a', true)
    for (let request = 0; request < 5; request++)
      expect(pool.acquire({ nowMs: 0, tokens: 1, affinityKeys: [] })).toMatchObject({ endpoint: { id: 'b' } })
    expect(pool.describe(0)[0]).toMatchObject({ isDraining: true, activeRequests: 1 })
    if (running.type === 'lease') running.release({ type: 'ok' }, clock.nowMs)
    drains.set('a', false)
    expect(pool.acquire({ nowMs: 0, tokens: 1, affinityKeys: [] })).toMatchObject({ endpoint: { id: 'a' } })
  })

  test('one that comes while it is taken out of use drains from the beginning; when it leaves, that is forgotten', () => {
    const { clock, pool, drains, shares, join } = fleet(['a'])
    drains.set('b', true)
    join('b')
    expect(pool.isUsable('b', clock.nowMs)).toBe(false)
    pool.remove('b', clock.nowMs)
    shares.removed('b')
    join('b')
    expect(pool.isUsable('b', clock.nowMs)).toBe(true)
  })
})
