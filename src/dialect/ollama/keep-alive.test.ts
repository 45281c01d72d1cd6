import { expect, test } from 'vitest'
import { keepAlive, readKeepAlive } from './keep-alive.ts'

const forEver = Number.POSITIVE_INFINITY

test.each<[string | number | null | undefined, number | undefined]>([
  [undefined, undefined],
  [null, undefined],
  [0, 0],
  [1800, 1_800_000],
  [0.5, 500],
  [-1, forEver],
  ['0', 0],
  ['0s', 0],
  ['5m', 300_000],
  ['1h30m', 5_400_000],
  ['300ms', 300],
  ['1.5s', 1500],
  ['-1s', forEver],
  ['-1', forEver],
  ['5', 5000],
  ['1.5', 1500],
])('%j is %j milliseconds', (given, expected) => {
  expect(readKeepAlive(keepAlive.parse(given))).toBe(expected)
})

test.each(['soon', '5 m', '5m3', 'm', true, [], {}])('%j is not a duration', (given) => {
  expect(keepAlive.safeParse(given).success).toBe(false)
})
