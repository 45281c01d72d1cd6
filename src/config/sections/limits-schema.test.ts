import { expect, test } from 'vitest'
import { limits, limitsOf } from './limits-schema.ts'

test('a model has its own limits, or else those of all, or else the defaults', () => {
  expect(limitsOf({ queueMs: 1, stallMs: 2, generationMs: 'none' }, { stallMs: 3, firstTokenMs: 'none' })).toEqual({
    queueMs: 1,
    stallMs: 3,
  })
  expect(limitsOf({})).toEqual({ queueMs: 600_000, firstTokenMs: 1_200_000, stallMs: 120_000, generationMs: 3_600_000 })
})

test.each([{ queueMs: 0 }, { stallMs: 'never' }, { firstTokenMs: 2 ** 31 }, { deadlineMs: 5 }])('refuses %o', (value) => {
  expect(limits.safeParse(value).success).toBe(false)
})
