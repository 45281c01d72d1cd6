import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openTestStore } from '../../test/support/test-store.ts'
import { LeasedCounter } from '../quota/leased-counter.ts'
import { Quotas } from '../quota/quotas.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'hrtime'], now: Date.UTC(2030, 0, 15, 12) }))
afterEach(() => void vi.useRealTimers())

test('a minute in the store ends at once where the clock is set back by more, and a budget stays', async () => {
  const { usage } = await openTestStore()
  if (usage === undefined) throw new Error('the store counts nothing')
  const shared = new LeasedCounter({ shared: usage, onAway: () => undefined, onBack: () => undefined })
  const quotas = new Quotas(shared)
  const quota = { account: 'a', requestsPerMinute: 1, tokensPerDay: 12 }
  const admit = () => quotas.admit(quota, { inputTokens: 2, maxOutputTokens: 2 })
  await admit()
  await expect(admit()).rejects.toMatchObject({ code: 'rate-limit-exceeded', retryAfterMs: 60_000 })
  vi.setSystemTime(Date.now() - 7_200_000)
  await admit()
  await expect(admit()).rejects.toMatchObject({ code: 'rate-limit-exceeded' })
  vi.advanceTimersByTime(60_000)
  await admit()
  vi.advanceTimersByTime(60_000)
  await expect(admit()).rejects.toMatchObject({ code: 'budget-exceeded' })
})
