import { expect, test } from 'vitest'
import { WatchedSet } from './watched-set.ts'

test('listeners hear of what changes, once, until they leave', () => {
  const set = new WatchedSet(['a'])
  const heard: string[] = []
  const leave = set.listen((member) => heard.push(`${member} ${set.has(member)}`))
  set.set('a', true)
  set.set('b', true)
  set.set('b', true)
  set.set('a', false)
  leave()
  set.set('b', false)
  expect(heard).toEqual(['b true', 'a false'])
  expect(['a', 'b'].some((member) => set.has(member))).toBe(false)
})
