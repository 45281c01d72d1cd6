import { expect, test } from 'vitest'
import { formatBytes, formatMs, formatRate, formatTime, fullTime, plural } from './numbers.ts'

test.each([
  [formatBytes(512), '512 B'],
  [formatBytes(4_096_000_000), '4.1 GB'],
  [formatMs(87.4), '87 ms'],
  [formatMs(1234), '1.23 s'],
  [formatMs(95_000), '1 min 35 s'],
  [formatMs(3_720_000), '1 h 2 min'],
  [formatRate(38.04), '38 tok/s'],
  [formatRate(1234.5), '1,235 tok/s'],
  [plural(1, 'token'), '1 token'],
  [plural(12_000, 'token'), '12,000 tokens'],
  [formatTime(0, 2000), 'now'],
  [formatTime(0, 42_000), '42 s ago'],
  [formatTime(0, 600_000), '10 min ago'],
])('a number is written as %s', (text, expected) => {
  expect(text).toBe(expected)
})

test.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e300, -1e300])(
  '%s is not a time, and does not throw',
  (at) => {
    expect(fullTime(at)).toBe('')
    expect(formatTime(at, 0)).toMatch(/^(now)?$/)
  },
)
