import { expect, test } from 'vitest'
import { encodeOpenaiLimits, formatDuration } from './limit-headers.ts'

test.each([
  [0, '0s'],
  [0.2, '1ms'],
  [250, '250ms'],
  [1000, '1s'],
  [12_500, '12.5s'],
  [59_999.5, '1m0s'],
  [61_250, '1m1.25s'],
])('%d ms are %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text)
})

test('only limits that there are have headers', () => {
  expect(encodeOpenaiLimits([{ unit: 'tokens', limit: 100, remaining: 7, resetMs: 1500 }])).toEqual({
    'x-ratelimit-limit-tokens': '100',
    'x-ratelimit-remaining-tokens': '7',
    'x-ratelimit-reset-tokens': '1.5s',
  })
})
