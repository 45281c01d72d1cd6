import { expect, test } from 'vitest'
import { Ring } from './ring.ts'

test('a ring keeps the last values under their numbers', () => {
  const ring = new Ring<string>(3)
  expect([ring.first, ring.count, ring.at(0)]).toEqual([0, 0, undefined])
  for (const letter of 'abcde') ring.push(letter)
  expect([ring.first, ring.count]).toEqual([2, 5])
  expect([0, 1, 2, 3, 4, 5].map((number) => ring.at(number))).toEqual([undefined, undefined, 'c', 'd', 'e', undefined])
})
