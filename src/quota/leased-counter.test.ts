import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { steadyMs } from '../base/steady-ms.ts'
import type { KeyQuota, UsageCounter } from '../contract/quota.ts'
import { LeasedCounter } from './leased-counter.ts'
import { MinuteCounter } from './minute-counter.ts'
import { Quotas } from './quotas.ts'

const quota: KeyQuota = { account: 'a', requestsPerMinute: 4, tokensPerMinute: 100 }
const cost = { inputTokens: 10, maxOutputTokens: 20 }

function open() {
  const counter = new MinuteCounter()
  let isDown = false
  const via = <T>(answer: () => Promise<T>): Promise<T> => (isDown ? Promise.reject(new Error('down')) : answer())
  const shared: UsageCounter = {
    read: (account) => via(() => counter.read(account)),
    take: (...args) => via(() => counter.take(...args)),
    settle: (...args) => via(() => counter.settle(...args)),
  }
  const onAway = vi.fn()
  const onBack = vi.fn()
  const join = () => new Quotas(new LeasedCounter({ shared, onAway, onBack, restMs: 20 }))
  const fail = (down: boolean) => {
    isDown = down
  }
  return { join, fail, counted: (account: string) => counter.known(account), onAway, onBack }
}

const left = (quotas: Quotas) => quotas.states(quota).map(({ remaining }) => remaining)

test('processes see what the others have used, when it matters', async () => {
  const { join } = open()
  const [here, there] = [join(), join()]
  await here.admit(quota, cost)
  const reserved = await there.admit(quota, cost)
  expect(left(there)).toEqual([2, 40])
  expect(left(here)).toEqual([3, 70])
  await here.admit(quota, cost)
  expect(left(here)).toEqual([1, 10])
  await there.settle(quota, reserved, 10)
  expect(left(there)).toEqual([1, 30])
})

test('what others give back is there immediately for a process that knew of nothing left', async () => {
  const { join } = open()
  const [here, there] = [join(), join()]
  const all = await there.admit(quota, { inputTokens: 50, maxOutputTokens: 50 })
  await expect(here.admit(quota, cost)).rejects.toMatchObject({ code: 'rate-limit-exceeded' })
  await expect(here.check(quota)).rejects.toMatchObject({ code: 'rate-limit-exceeded' })
  await there.settle(quota, all, 10)
  await here.check(quota)
  await here.admit(quota, cost)
  expect(left(here)).toEqual([2, 60])
})

test('what a process counts while the counter is away is added when it is back', async () => {
  const { join, fail, counted, onAway, onBack } = open()
  const [here, there] = [join(), join()]
  await here.admit(quota, cost)
  await here.admit(quota, cost)
  fail(true)
  const reserved = await here.admit(quota, cost)
  expect(left(here)).toEqual([1, 10])
  await here.settle(quota, reserved, 15)
  expect(left(here)).toEqual([1, 25])
  fail(false)
  await expect.poll(() => counted('a')).toMatchObject({ requests: 3, tokens: 75 })
  expect(onAway).toHaveBeenCalledExactlyOnceWith(new Error('down'))
  expect(onBack).toHaveBeenCalledOnce()
  await there.admit(quota, { inputTokens: 5, maxOutputTokens: 5 })
  expect(left(there)).toEqual([0, 15])
})

test('a minute and a day that begin while the counter is away are counted on when it is back', async () => {
  const { join, fail, counted } = open()
  const here = join()
  const both: KeyQuota = { ...quota, tokensPerDay: 1000 }
  const day = `a ${new Date().toISOString().slice(0, 'yyyy-mm-dd'.length)}`
  fail(true)
  const first = await here.admit(both, cost)
  const second = await here.admit(both, cost)
  await here.settle(both, first, 12)
  fail(false)
  await expect.poll(() => [counted('a'), counted(day)]).toMatchObject([{ requests: 2, tokens: 42 }, { tokens: 42 }])
  await here.settle(both, second, 5)
  await expect.poll(() => [counted('a'), counted(day)]).toMatchObject([{ requests: 2, tokens: 17 }, { tokens: 17 }])
})

test('a counter that does not answer is waited for once', async () => {
  const take = vi.fn(never)
  const onAway = vi.fn()
  const shared: UsageCounter = { read: never, take, settle: never }
  const quotas = new Quotas(new LeasedCounter({ shared, onAway, onBack: () => undefined, patienceMs: 20 }))
  for (let count = 0; count < 3; count += 1) await quotas.admit(quota, cost)
  expect(take).toHaveBeenCalledOnce()
  expect(onAway).toHaveBeenCalledExactlyOnceWith(new Error('no answer in 20 ms'))
  expect(left(quotas)).toEqual([1, 10])
})

const never = () => new Promise<never>(() => undefined)

test('a minute that a store prolongs, as its clock was set back, keeps no request from one that fails next', async () => {
  const endsAtMs = steadyMs() + 7_200_000
  const prolonged = { requests: 4, tokens: 0, isStretched: false, minute: endsAtMs, endsAtMs }
  const fails = () => Promise.reject(new Error('down'))
  const shared: UsageCounter = { read: async () => prolonged, take: fails, settle: fails }
  const counter = new LeasedCounter({ shared, onAway: () => undefined, onBack: () => undefined })
  await counter.read(quota.account, quota)
  const here = new Quotas(counter)
  await here.admit(quota, cost)
  expect(left(here)).toEqual([3, 70])
})

/** Eight processes that know of each other, and a counter that takes its time. */
function openEight({ delayMs = () => 0 }: { delayMs?: () => number } = {}) {
  const counter = new MinuteCounter()
  const all = Array.from({ length: 8 }, (_, index) => `process ${index}`)
  let isDown = false
  let questions = 0
  const via = async <T>(answer: () => Promise<T>): Promise<T> => {
    questions += 1
    if (isDown) throw new Error('down')
    const ms = delayMs()
    if (ms === 0) return answer()
    // A statement has its effect before its answer arrives.
    const value = await answer()
    await pause(ms)
    return value
  }
  const shared: UsageCounter = {
    read: (account) => via(() => counter.read(account)),
    take: (...args) => via(() => counter.take(...args)),
    settle: (...args) => via(() => counter.settle(...args)),
  }
  const options = { shared, onAway: () => undefined, onBack: () => undefined, patienceMs: 50, restMs: 20 }
  const quotas = all.map((own) => new Quotas(new LeasedCounter({ ...options, processes: () => ({ own, all }) })))
  const fail = (down: boolean) => {
    isDown = down
  }
  return { quotas, fail, asked: () => questions }
}

/** How many requests of `each` per process pass, sent one after the other by all processes together. */
async function passed(quotas: readonly Quotas[], quota: KeyQuota, each: number): Promise<number> {
  const ofOne = async (one: Quotas) => {
    let count = 0
    for (let sent = 0; sent < each; sent += 1) {
      const reservation = await one.admit(quota, cost).catch(() => undefined)
      if (reservation === undefined) continue
      count += 1
      await one.settle(quota, reservation, 25)
    }
    return count
  }
  return (await Promise.all(quotas.map(ofOne))).reduce((sum, count) => sum + count)
}

describe('eight processes', () => {
  const limited: KeyQuota = { account: 'a', requestsPerMinute: 100 }

  test.each([100, 10, 3])(
    'pass %i requests together while the counter is away, all that the limit allows',
    async (requestsPerMinute) => {
      const { quotas, fail } = openEight()
      fail(true)
      expect(await passed(quotas, { account: 'a', requestsPerMinute }, 100)).toBe(requestsPerMinute)
    },
  )

  test('use as many tokens as the limit allows while the counter is away, and one of them what is left', async () => {
    const { quotas, fail } = openEight()
    fail(true)
    const count = await passed(quotas, { account: 'a', tokensPerMinute: 2000 }, 30)
    expect(count * 25).toBeLessThanOrEqual(2000 + 30)
    expect(count * 25).toBeGreaterThan(1000)
    const refused = quotas.map((one) =>
      one.admit({ account: 'a', tokensPerMinute: 2000 }, { inputTokens: 10, maxOutputTokens: 1900 }),
    )
    const all = await Promise.allSettled(refused)
    expect(String((all.find(({ status }) => status === 'rejected') as PromiseRejectedResult).reason)).toContain(
      '8 processes cannot count together now: each allows its part',
    )
  })

  test('pass no more than the limit when the counter goes in the middle of a minute, and when it is back', async () => {
    const { quotas, fail } = openEight()
    const before = await passed(quotas, limited, 5)
    fail(true)
    const alone = await passed(quotas, limited, 5)
    fail(false)
    await pause(1200)
    const back = await passed(quotas, limited, 100)
    await pause(3000)
    const rest = await passed(quotas, limited, 5)
    expect(before + alone + back + rest).toBeLessThanOrEqual(120)
    expect(before + alone + back + rest).toBeGreaterThanOrEqual(100)
    expect(alone).toBeGreaterThan(0)
  })

  test('pass no more than the limit while the counter answers now in time and now too late', async () => {
    let asked = 0
    const { quotas } = openEight({ delayMs: () => (asked++ % 7) * 15 })
    expect(await passed(quotas, { ...limited, tokensPerMinute: 3000 }, 60)).toBeLessThanOrEqual(120)
  })

  test('ask seldom about a hot account, and use all of its limit', async () => {
    const { quotas, asked } = openEight()
    const hot: KeyQuota = { account: 'a', requestsPerMinute: 12_000, tokensPerMinute: 1_000_000 }
    const startMs = performance.now()
    const counts = await Promise.all(
      quotas.map(async (one) => {
        let count = 0
        while (performance.now() - startMs < 4000) {
          const all = Array.from({ length: 40 }, () => one.admit(hot, cost).then((part) => one.settle(hot, part, 25)))
          count += (await Promise.allSettled(all)).filter(({ status }) => status === 'fulfilled').length
          await pause(60)
        }
        return count
      }),
    )
    const seconds = (performance.now() - startMs) / 1000
    const count = counts.reduce((sum, each) => sum + each)
    expect(count).toBeLessThanOrEqual(12_000)
    expect(count).toBeGreaterThan(11_000)
    expect(asked() / seconds).toBeLessThan(50)
  })
})
