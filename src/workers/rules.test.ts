import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nextRestart } from './restart-rule.ts'
import { shareOf } from './share.ts'

test('the shares of all workers add up to the total, and differ by one at most', () => {
  fc.assert(
    fc.property(fc.nat(5000), fc.integer({ min: 1, max: 64 }), (total, count) => {
      const shares = Array.from({ length: count }, (_, index) => shareOf(total, { index, count }))
      expect(shares.reduce((sum, share) => sum + share, 0)).toBe(total)
      expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1)
    }),
  )
})

test('a worker is started again at once, and ever later when it ends again soon', () => {
  let failures = 0
  const pauses = Array.from({ length: 12 }, () => {
    const next = nextRestart(failures, 1000)
    failures = next.failures
    return next.pauseMs
  })
  expect(pauses.slice(0, 5)).toEqual([0, 100, 200, 400, 800])
  expect(pauses.at(-1)).toBe(30_000)
  expect(nextRestart(failures, 60_000)).toEqual({ failures: 1, pauseMs: 0 })
})
