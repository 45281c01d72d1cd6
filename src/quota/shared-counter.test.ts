import { expect, test, vi } from 'vitest'
import { steadyMs } from '../base/steady-ms.ts'
import type { KeyQuota, UsageCounter } from '../contract/quota.ts'
import { MinuteCounter } from './minute-counter.ts'
import { Quotas } from './quotas.ts'
import { SharedCounter } from './shared-counter.ts'

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
  const join = () => new Quotas(new SharedCounter({ shared, onAway, onBack, restMs: 20 }))
  const fail = (down: boolean) => {
    isDown = down
  }
  return { join, fail, onAway, onBack }
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

test('while the counter is away, each process counts alone, from what it knew', async () => {
  const { join, fail, onAway, onBack } = open()
  const here = join()
  await here.admit(quota, cost)
  await here.admit(quota, cost)
  fail(true)
  const reserved = await here.admit(quota, cost)
  expect(left(here)).toEqual([1, 10])
  await here.settle(quota, reserved, 15)
  expect(left(here)).toEqual([1, 25])
  await here.admit(quota, { inputTokens: 1, maxOutputTokens: 1 })
  await expect(here.check(quota)).rejects.toThrow('4 requests per minute')
  expect(onAway).toHaveBeenCalledExactlyOnceWith(new Error('down'))
  fail(false)
  await expect.poll(() => here.check(quota)).toBeUndefined()
  expect(onBack).toHaveBeenCalledOnce()
  expect(left(here)).toEqual([2, 40])
})

test('a counter that does not answer is waited for once', async () => {
  const take = vi.fn(never)
  const onAway = vi.fn()
  const shared: UsageCounter = { read: never, take, settle: never }
  const quotas = new Quotas(new SharedCounter({ shared, onAway, onBack: () => undefined, patienceMs: 20 }))
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
  const counter = new SharedCounter({ shared, onAway: () => undefined, onBack: () => undefined })
  await counter.read(quota.account)
  const here = new Quotas(counter)
  await here.admit(quota, cost)
  expect(left(here)).toEqual([3, 70])
})
