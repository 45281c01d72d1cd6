import { expect, test } from 'vitest'
import type { PoolEndpoint } from './member.ts'
import { Pool } from './pool.ts'

/** A pool of `count` endpoints that came at 0, and a clock by which all checks succeed at once. */
function open(count: number, random: () => number) {
  const pool = new Pool<PoolEndpoint>([], { breaker: { random } })
  for (let index = 0; index < count; index++) pool.add({ id: `${index}`, weight: 1 }, 0)
  return {
    /** How many are checked in each second. */
    run(seconds: number): number[] {
      return Array.from({ length: seconds }, (_, second) => {
        const due = pool.checksDue(second * 1000)
        for (const { id } of due) pool.reportCheck(id, true, second * 1000)
        return due.length
      })
    },
  }
}

function seeded(): () => number {
  let seed = 1
  return () => {
    seed = (seed * 1664525 + 1013904223) % 2 ** 32
    return seed / 2 ** 32
  }
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)

test('an idle endpoint is checked every ten seconds', () => {
  expect(sum(open(1, () => 0.5).run(61))).toBe(6)
})

test('endpoints that came together are checked apart, and stay so', () => {
  const checks = open(100, seeded()).run(120)
  expect(Math.max(...checks)).toBeLessThan(30)
  // Each about every ten seconds.
  expect(sum(checks.slice(20)) / 100).toBeGreaterThan(8)
  expect(sum(checks.slice(20)) / 100).toBeLessThan(11)
})

test('a large fleet is checked less often: 20 checks a second, however large it is', () => {
  const checks = open(5000, seeded()).run(600)
  expect(sum(checks.slice(200)) / 400).toBeGreaterThan(18)
  expect(sum(checks.slice(200)) / 400).toBeLessThan(22)
  expect(Math.max(...checks.slice(200))).toBeLessThan(50)
})

test('of four processes that tell each other, one checks each endpoint, and another one where that ends', () => {
  const random = seeded()
  const pools = Array.from({ length: 4 }, () => {
    const pool = new Pool<PoolEndpoint>([], { breaker: { random } })
    for (let index = 0; index < 50; index++) pool.add({ id: `${index}`, weight: 1 }, 0)
    return pool
  })
  /** The checks of some processes in these seconds; each hears of those of the others a second later. */
  const run = (running: typeof pools, fromSecond: number, seconds: number) => {
    const counts = new Map<string, number>()
    let news: { readonly by: Pool; readonly id: string }[] = []
    for (let second = fromSecond; second < fromSecond + seconds; second++) {
      const nowMs = second * 1000
      for (const { by, id } of news) for (const pool of running) if (pool !== by) pool.hearPassed(id, nowMs)
      news = []
      for (const by of running) {
        for (const { id } of by.checksDue(nowMs)) {
          by.reportCheck(id, true, nowMs)
          counts.set(id, (counts.get(id) ?? 0) + 1)
          news.push({ by, id })
        }
      }
    }
    return [...counts.values()].map((count) => count / seconds)
  }
  run(pools, 0, 60)
  const perSecond = run(pools, 60, 600)
  expect(perSecond).toHaveLength(50)
  expect(sum(perSecond) / 50).toBeLessThan(0.11)
  expect(Math.min(...perSecond)).toBeGreaterThan(0.08)
  // Two processes end.
  const after = run(pools.slice(2), 660, 600)
  expect(after).toHaveLength(50)
  expect(Math.min(...after)).toBeGreaterThan(0.08)
})

test('what another process says puts off no check of an endpoint that is unknown, or has failed one here', () => {
  const dueIn = (areKnown: boolean, hasFailed: boolean) => {
    const pool = new Pool<PoolEndpoint>([], { breaker: { random: () => 0.5 }, areKnown })
    pool.add({ id: 'a', weight: 1 }, 0)
    pool.checksDue(10_000)
    pool.hearPassed('a', 19_000)
    pool.reportCheck('a', !hasFailed, 20_000)
    pool.hearPassed('a', 20_000)
    return Array.from({ length: 20 }, (_, second) => second).find((second) => pool.checksDue(20_000 + second * 1000).length > 0)
  }
  expect([dueIn(true, false), dueIn(true, true), dueIn(false, false)]).toEqual([14, 1, 10])
})
