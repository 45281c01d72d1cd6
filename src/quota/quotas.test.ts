import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { roundsOf } from '../../test/support/process/soak-length.ts'
import type { KeyQuota } from '../contract/quota.ts'
import { planTokens, Quotas, type Reservation } from './quotas.ts'

const startMs = Date.UTC(2030, 0)
const quota: KeyQuota = { account: 'a', requestsPerMinute: 2, tokensPerMinute: 100 }
const cost = (inputTokens: number, maxOutputTokens: number) => ({ inputTokens, maxOutputTokens })
const exceeded = (limit: object) => expect.objectContaining({ code: 'rate-limit-exceeded', ...limit })

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'hrtime'], now: startMs }))
afterEach(() => void vi.useRealTimers())

test('calls of tools are counted for themselves', async () => {
  const quotas = new Quotas()
  const limited = { account: 'a', requestsPerMinute: 1, toolCallsPerMinute: 2 }
  expect(await quotas.admitsToolCall(limited)).toBe(true)
  expect(await quotas.admitsToolCall(limited)).toBe(true)
  expect(await quotas.admitsToolCall(limited)).toBe(false)
  await quotas.admit(limited, cost(1, 1))
  expect(await quotas.admitsToolCall({ account: 'a' })).toBe(true)
  vi.advanceTimersByTime(60_000)
  expect(await quotas.admitsToolCall(limited)).toBe(true)
})

describe('requests', () => {
  test('requests are counted per minute, which begins with the first', async () => {
    const quotas = new Quotas()
    expect(quotas.states(quota)[0]).toEqual({ unit: 'requests', limit: 2, remaining: 2, resetMs: 0 })
    await quotas.admit(quota, cost(1, 1))
    vi.advanceTimersByTime(20_000)
    await quotas.admit(quota, cost(1, 1))
    expect(quotas.states(quota)[0]).toEqual({ unit: 'requests', limit: 2, remaining: 0, resetMs: 40_000 })
    await expect(quotas.admit(quota, cost(1, 1))).rejects.toEqual(
      exceeded({ exceeded: { unit: 'requests', limit: 2, used: 2, requested: 1 }, retryAfterMs: 40_000 }),
    )
    vi.advanceTimersByTime(39_999)
    await expect(quotas.check(quota)).rejects.toThrow('2 requests per minute')
    vi.advanceTimersByTime(1)
    await quotas.check(quota)
  })

  test.each([-7_200_000, 7_200_000])('requests are counted for a minute, though the clock is set by %i ms', async (stepMs) => {
    const quotas = new Quotas()
    await quotas.admit(quota, cost(1, 1))
    await quotas.admit(quota, cost(1, 1))
    vi.setSystemTime(Date.now() + stepMs)
    await expect(quotas.check(quota)).rejects.toMatchObject({ retryAfterMs: 60_000 })
    vi.advanceTimersByTime(60_000)
    await quotas.check(quota)
  })

  test('requests that are refused cost nothing', async () => {
    const quotas = new Quotas()
    await quotas.admit(quota, cost(50, 30))
    await expect(quotas.admit(quota, cost(30, 1))).rejects.toEqual(
      exceeded({ exceeded: { unit: 'tokens', limit: 100, used: 80, requested: 31 } }),
    )
    expect(quotas.states(quota)).toMatchObject([{ remaining: 1 }, { remaining: 20 }])
  })

  test('requests that arrive together are counted together', async () => {
    const quotas = new Quotas()
    const all = await Promise.allSettled([1, 2, 3, 4].map(() => quotas.admit(quota, cost(1, 1))))
    expect(all.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected'])
  })

  test('requests of one account leave another alone', async () => {
    const quotas = new Quotas()
    const one = { ...quota, requestsPerMinute: 1 }
    await quotas.admit(one, cost(50, 50))
    await expect(quotas.check(one)).rejects.toThrow()
    expect(quotas.states({ ...one, account: 'b' })).toMatchObject([{ remaining: 1 }, { remaining: 100 }])
  })

  test('requests are counted against the limit of the moment', async () => {
    const quotas = new Quotas()
    await quotas.admit(quota, cost(1, 1))
    await expect(quotas.check({ ...quota, requestsPerMinute: 1 })).rejects.toThrow('1 requests per minute')
    expect(quotas.states({ ...quota, requestsPerMinute: 5 })[0]).toMatchObject({ limit: 5, remaining: 4 })
  })
})

describe('tokens', () => {
  const left = (quotas: Quotas) => quotas.states({ account: 'a', tokensPerMinute: 100 })[0]?.remaining
  const tokens: KeyQuota = { account: 'a', tokensPerMinute: 100 }

  test('tokens are reserved, and then replaced by those that were used', async () => {
    const quotas = new Quotas()
    const reservation = await quotas.admit(tokens, cost(10, 50))
    expect(left(quotas)).toBe(40)
    await quotas.settle(tokens, reservation, 15)
    expect(left(quotas)).toBe(85)
  })

  test('tokens that were used beyond the reservation are counted', async () => {
    const quotas = new Quotas()
    const reservation = await quotas.admit(tokens, cost(10, 500))
    expect(left(quotas)).toBe(0)
    await quotas.settle(tokens, reservation, 130)
    await expect(quotas.check(tokens)).rejects.toThrow('of which 130 are used or reserved')
  })

  test('tokens are stretched for one request of a minute at a time', async () => {
    const quotas = new Quotas()
    const small = await quotas.admit(tokens, cost(10, 10))
    const stretched = await quotas.admit(tokens, cost(10, 500))
    await quotas.settle(tokens, small, 10)
    await expect(quotas.admit(tokens, cost(1, 500))).rejects.toThrow('of which 90 are used or reserved')
    await quotas.settle(tokens, stretched, 20)
    expect(await quotas.admit(tokens, cost(1, 500))).toMatchObject({ tokens: 70, isStretched: true })
  })

  test('tokens that were reserved in an earlier minute are not given to the next', async () => {
    const quotas = new Quotas()
    const reservation = await quotas.admit(tokens, cost(10, 50))
    vi.advanceTimersByTime(60_000)
    await quotas.admit(tokens, cost(10, 20))
    await quotas.settle(tokens, reservation, 0)
    expect(left(quotas)).toBe(70)
  })

  test('tokens of a request without an output limit are estimated', async () => {
    const quotas = new Quotas()
    await quotas.admit({ account: 'a', tokensPerMinute: 10_000 }, { inputTokens: 4 })
    expect(quotas.states({ account: 'a', tokensPerMinute: 10_000 })[0]?.remaining).toBe(10_000 - 4 - 4096)
  })

  test('tokens for a prompt that is larger than the limit do not come by waiting', async () => {
    const refused = new Quotas().admit(tokens, cost(101, 1))
    await expect(refused).rejects.toEqual(exceeded({ retryAfterMs: undefined }))
    await expect(refused).rejects.toThrow('the prompt has 101 tokens, but the limit of this API key is 100 tokens per minute')
  })

  test('exceed the limit of a minute by at most the output of one request', async () => {
    const step = fc.oneof(
      fc.record({
        type: fc.constant('admit' as const),
        input: fc.nat(60),
        max: fc.nat(200),
        percent: fc.nat(100),
      }),
      fc.record({ type: fc.constant('settle' as const), which: fc.nat(20) }),
      fc.record({ type: fc.constant('wait' as const), ms: fc.nat(10_000) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (steps) => {
        const quotas = new Quotas()
        const running: { reservation: Reservation; used: number }[] = []
        const minutes = new Map<number, { used: number; over: number }>()
        for (const one of steps) {
          if (one.type === 'wait') vi.advanceTimersByTime(one.ms)
          else if (one.type === 'settle') {
            const [ended] = running.splice(one.which % Math.max(1, running.length), 1)
            if (ended !== undefined) await quotas.settle(tokens, ended.reservation, ended.used)
          } else {
            const reservation = await quotas.admit(tokens, cost(one.input, one.max)).catch(() => undefined)
            if (reservation === undefined) continue
            const used = one.input + Math.round((one.max * one.percent) / 100)
            running.push({ reservation, used })
            const before = minutes.get(reservation.minute) ?? { used: 0, over: 0 }
            const over = Math.max(before.over, used - reservation.tokens)
            minutes.set(reservation.minute, { used: before.used + used, over })
          }
        }
        for (const { used, over } of minutes.values()) expect(used).toBeLessThanOrEqual(100 + over)
      }),
      { numRuns: roundsOf(100, 500) },
    )
  })
})

const none = { limit: 100, used: 0, inputTokens: 10, outputTokens: 20, isStretched: false }

test.each([
  ['all that it may use, where that is left', none, { tokens: 30, isStretched: false }],
  ['… to the last token', { ...none, used: 70 }, { tokens: 30, isStretched: false }],
  ['what is left, where its prompt fits', { ...none, used: 80 }, { tokens: 20, isStretched: true }],
  ['the whole limit, where it asks for more', { ...none, outputTokens: 32_000 }, { tokens: 100, isStretched: true }],
  ['nothing, where its prompt does not fit', { ...none, used: 91 }, 'later'],
  ['nothing, where nothing is left', { ...none, used: 100, inputTokens: 0 }, 'later'],
  ['nothing, after the limit was exceeded', { ...none, used: 130, inputTokens: 0 }, 'later'],
  ['nothing, while another one runs on what was left', { ...none, used: 80, isStretched: true }, 'later'],
  [
    'all, also while another one runs on what was left',
    { ...none, used: 20, isStretched: true },
    { tokens: 30, isStretched: false },
  ],
  ['nothing, ever, where its prompt alone is larger than the limit', { ...none, inputTokens: 101 }, 'never'],
])('a request reserves %s', (_, plan, reserved) => {
  expect(planTokens(plan)).toEqual(reserved)
})

describe('budgets', () => {
  const day: KeyQuota = { account: 'a', tokensPerDay: 100 }
  const spent = (limit: object) => expect.objectContaining({ code: 'budget-exceeded', ...limit })

  test('budgets begin again with the day and the month of UTC', async () => {
    vi.setSystemTime(Date.UTC(2030, 0, 30, 23))
    const quotas = new Quotas()
    const both = { account: 'a', tokensPerDay: 100, tokensPerMonth: 150 }
    await quotas.admit(both, cost(50, 40))
    await expect(quotas.admit(both, cost(1, 10))).rejects.toEqual(
      spent({
        message: expect.stringMatching(/100 tokens per day, of which 10 remain.*may take 11.*again at 2030-01-31T00:00:00Z/),
        retryAfterMs: 3_600_000,
      }),
    )
    vi.setSystemTime(Date.UTC(2030, 0, 31))
    await quotas.admit(both, cost(1, 49))
    await expect(quotas.admit(both, cost(1, 10))).rejects.toThrow('150 tokens per month, of which 10 remain')
    expect(await quotas.budgets(both)).toEqual([
      { period: 'day', limit: 100, used: 50, resetsAtMs: Date.UTC(2030, 1) },
      { period: 'month', limit: 150, used: 140, resetsAtMs: Date.UTC(2030, 1) },
    ])
    vi.setSystemTime(Date.UTC(2030, 1))
    await quotas.admit(both, cost(50, 50))
  })

  test('budgets are reserved, and settled with what was used; nothing runs on less than it may use', async () => {
    const quotas = new Quotas()
    const reservation = await quotas.admit(day, cost(10, 90))
    await expect(quotas.check(day)).rejects.toEqual(spent({ exceeded: { unit: 'tokens', limit: 100, used: 100, requested: 1 } }))
    await quotas.settle(day, reservation, 30)
    await expect(quotas.admit(day, cost(10, 90))).rejects.toThrow('of which 70 remain')
    await quotas.admit(day, cost(10, 60))
  })

  test('budgets of a request that its minute refuses are given back, and the other way round', async () => {
    const quotas = new Quotas()
    const limited = { ...day, requestsPerMinute: 1, group: { name: 'g', requestsPerMinute: 5, tokensPerDay: 1000 } }
    await quotas.admit(limited, cost(10, 10))
    await expect(quotas.admit(limited, cost(10, 10))).rejects.toEqual(exceeded({}))
    await expect(quotas.admit({ ...limited, account: 'b' }, cost(200, 10))).rejects.toEqual(spent({}))
    const used = (await quotas.budgets({ ...limited, account: 'b' })).map((state) => state.used)
    expect(used).toEqual([0, 20])
    for (const account of ['c', 'd', 'e', 'f']) await quotas.admit({ ...limited, account }, cost(1, 1))
    await expect(quotas.admit({ ...limited, account: 'h' }, cost(1, 1))).rejects.toThrow("the group 'g' of this API key")
  })

  test('budgets of a group are those of all its keys', async () => {
    const quotas = new Quotas()
    const of = (account: string): KeyQuota => ({ account, group: { name: 'team', tokensPerMonth: 100 } })
    await quotas.admit(of('a'), cost(10, 50))
    await expect(quotas.admit(of('b'), cost(10, 50))).rejects.toEqual(
      spent({ exceeded: { unit: 'tokens', limit: 100, used: 60, requested: 60, group: 'team' } }),
    )
    await quotas.admit({ account: 'b' }, cost(10, 50))
  })

  test('budgets hold however requests race, and however much of what they may use they do use', async () => {
    const requests = fc.array(
      fc.record({ input: fc.nat(20), output: fc.nat(40), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
    )
    await fc.assert(
      fc.asyncProperty(requests, async (all) => {
        const quotas = new Quotas()
        let used = 0
        await Promise.allSettled(
          all.map(async ({ input, output, share }) => {
            const reservation = await quotas.admit(day, cost(input, output))
            const tokens = input + Math.floor(output * share)
            used += tokens
            await quotas.settle(day, reservation, tokens)
          }),
        )
        expect(used).toBeLessThanOrEqual(100)
        expect((await quotas.budgets(day))[0]?.used).toBe(used)
      }),
    )
  })
})
