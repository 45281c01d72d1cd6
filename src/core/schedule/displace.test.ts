import { expect, test } from 'vitest'
import { findDisplaced } from './displace.ts'

/** `a1` is a request of caller `a` in its session `1`. */
const request = (name: string) => ({ principal: name[0] ?? '', session: name.slice(1) })

test.each([
  ['the newest of the caller with the most', ['a', 'a', 'b', 'a', 'b'], 'c', 3],
  ['one of a caller with two more', ['a', 'a', 'b', 'a'], 'b', 3],
  ['none of a caller with one more', ['a', 'a', 'b'], 'b', undefined],
  ['none, where all have one', ['a', 'b', 'c'], 'd', undefined],
  ['none of its own', ['a', 'a', 'a'], 'a', undefined],
  ['none, where nothing waits', [], 'a', undefined],
  ['the newest of the session with the most, among its own', ['a1', 'a1', 'a1', 'a2'], 'a2', 2],
  ['none of its own sessions, where another caller has as many', ['a1', 'b1', 'b1', 'b1'], 'b2', 3],
  ['none of its own sessions, where its caller has fewer', ['a1', 'a1', 'b1', 'b1', 'b1'], 'a2', undefined],
])('a newcomer displaces %s', (_, waiting, newcomer, index) => {
  const items = waiting.map(request)
  expect(findDisplaced(items, request(newcomer))).toBe(index === undefined ? undefined : items[index])
})
