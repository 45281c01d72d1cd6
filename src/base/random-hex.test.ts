import { expect, test } from 'vitest'
import { randomHex } from './random-hex.ts'

test('ids differ, also across draws, and have 32 hexadecimal digits', () => {
  const ids = Array.from({ length: 1000 }, randomHex)
  expect(new Set(ids).size).toBe(1000)
  expect(ids.filter((id) => !/^[\da-f]{32}$/.test(id))).toEqual([])
})
