import { describe, expect, test } from 'vitest'
import { steadyMs } from '../../src/base/steady-ms.ts'
import { uniqueId } from '../support/stored.ts'
import { type OpenStore, useStore } from './suite.ts'

const share = (tokens: number, more: object = {}) => ({ requests: 1, tokens, isStretched: false, ...more })
const dayMs = 86_400_000

/** What accounts use in their periods, and what callers used by day. */
export function describeUsage(open: OpenStore): void {
  const opened = useStore(open)

  describe('usage', () => {
    test('is taken up to a limit, given back, and counted for its period only', async () => {
      const { usage } = opened.store
      const account = uniqueId('account')
      const untilMs = Date.now() + dayMs
      expect(await usage.read(account)).toMatchObject({ requests: 0, tokens: 0 })
      const taken = await usage.take(account, share(60, { untilMs }), { tokensPerMinute: 100 })
      expect(taken).toMatchObject({ requests: 1, tokens: 60, isStretched: false, minute: untilMs })
      expect(Math.abs((taken?.endsAtMs ?? 0) - steadyMs() - dayMs)).toBeLessThan(10_000)
      expect(await usage.take(account, share(60, { untilMs }), { tokensPerMinute: 100 })).toBeUndefined()
      expect(await usage.take(account, share(0, { untilMs }), { requestsPerMinute: 1 })).toBeUndefined()
      const minute = taken?.minute ?? 0
      expect(await usage.settle(account, { tokens: -50, requests: -1, isStretched: false, minute })).toMatchObject({
        requests: 0,
        tokens: 10,
      })
      // What was taken in an earlier period is not given back in this one, and what was used beyond it counts.
      expect(await usage.settle(account, { tokens: -5, isStretched: false, minute: minute - 1 })).toMatchObject({ tokens: 10 })
      expect(await usage.settle(account, { tokens: 5, isStretched: false, minute: minute - 1 })).toMatchObject({ tokens: 15 })
      expect(await usage.take(account, share(85, { untilMs }), { tokensPerMinute: 100 })).toMatchObject({ tokens: 100 })
    })

    test('is stretched by one at a time', async () => {
      const { usage } = opened.store
      const account = uniqueId('account')
      const taken = await usage.take(account, share(1, { isStretched: true }), {})
      expect(await usage.take(account, share(1, { isStretched: true }), {})).toBeUndefined()
      await usage.settle(account, { tokens: 0, isStretched: true, minute: taken?.minute ?? 0 })
      expect(await usage.take(account, share(1, { isStretched: true }), {})).toMatchObject({ isStretched: true, tokens: 2 })
    })

    test('begins with nothing when its period is over', async () => {
      const { usage } = opened.store
      const account = uniqueId('account')
      await usage.take(account, share(100, { untilMs: Date.now() - 1000 }), {})
      expect(await usage.read(account)).toMatchObject({ tokens: 0 })
      expect(await usage.take(account, share(7), { tokensPerMinute: 7 })).toMatchObject({ requests: 1, tokens: 7 })
    })

    test('that races passes up to the limit', async () => {
      const { usage } = opened.store
      const account = uniqueId('account')
      const all = await Promise.all(Array.from({ length: 30 }, () => usage.take(account, share(10), { tokensPerMinute: 105 })))
      expect(all.filter((taken) => taken !== undefined)).toHaveLength(10)
    })
  })

  describe('used days', () => {
    test('are added up, and read by days and caller, the latest first', async () => {
      const { usageDays } = opened.store
      const caller = uniqueId('caller')
      const all = { requests: 2, inputTokens: 10, cachedInputTokens: 4, outputTokens: 3 }
      const batch = { requests: 1, inputTokens: 7, cachedInputTokens: 3, outputTokens: 2 }
      const entry = { caller, model: 'm', all, batch }
      await usageDays.add([])
      await usageDays.add([
        { ...entry, day: '2999-01-01' },
        { ...entry, day: '2999-01-02', model: 'n' },
      ])
      await Promise.all(Array.from({ length: 5 }, () => usageDays.add([{ ...entry, day: '2999-01-02' }])))
      await usageDays.add([{ ...entry, caller: uniqueId('caller'), day: '2999-01-02' }])
      expect(await usageDays.read({ from: '2999-01-01', caller })).toEqual([
        {
          day: '2999-01-02',
          caller,
          model: 'm',
          all: { requests: 10, inputTokens: 50, cachedInputTokens: 20, outputTokens: 15 },
          batch: { requests: 5, inputTokens: 35, cachedInputTokens: 15, outputTokens: 10 },
        },
        { ...entry, day: '2999-01-02', model: 'n' },
        { ...entry, day: '2999-01-01' },
      ])
      expect(await usageDays.read({ from: '2998-01-01', to: '2999-01-01', caller })).toHaveLength(1)
      expect((await usageDays.read({ from: '2999-01-02', to: '2999-01-02' })).length).toBeGreaterThan(2)
    })

    test('are forgotten after 400', async () => {
      const store = await open()
      const caller = uniqueId('caller')
      const all = { requests: 1, inputTokens: 1, cachedInputTokens: 0, outputTokens: 1 }
      const entry = { caller, model: 'm', all, batch: all }
      await store.usageDays.add([
        { ...entry, day: '2000-01-01' },
        { ...entry, day: '2000-01-02' },
      ])
      await store.prune(Date.UTC(2000, 0, 2) + 400 * dayMs)
      expect(await store.usageDays.read({ from: '2000-01-01', caller })).toEqual([{ ...entry, day: '2000-01-02' }])
      await store.close()
    })
  })
}
