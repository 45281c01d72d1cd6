import { expect, test } from 'vitest'
import { nearestName } from './near-name.ts'

test.each([
  ['prot', 'port'],
  ['hsot', 'host'],
  ['Max-Queud', 'maxQueued'],
  ['ports', 'port'],
  ['trop', undefined],
  ['x', undefined],
  ['', undefined],
])('%j is taken for %j', (typed, name) => {
  expect(nearestName(typed, ['host', 'port', 'maxQueued'])).toBe(name)
})
