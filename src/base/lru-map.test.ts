import { expect, test } from 'vitest'
import { LruMap } from './lru-map.ts'

type Sized = { readonly size: number }

const sizeOf = ({ size }: Sized) => size
const keysOf = (map: LruMap<string, Sized>) => [...map].map(([key]) => key)

test('the value that was not used for the longest time leaves a full map', () => {
  const map = new LruMap<string, Sized>({ max: 2 })
  map.set('a', { size: 1 })
  map.set('b', { size: 1 })
  expect(map.get('a')).toEqual({ size: 1 })
  map.set('c', { size: 1 })
  expect(keysOf(map)).toEqual(['a', 'c'])
  expect(map.get('b')).toBeUndefined()
})

test('as many values leave as a large one needs, and one that is larger than all may be is not kept', () => {
  const map = new LruMap<string, Sized>({ max: 10, sizeOf })
  for (const key of ['a', 'b', 'c']) map.set(key, { size: 3 })
  map.set('large', { size: 5 })
  expect(keysOf(map)).toEqual(['c', 'large'])
  map.set('too large', { size: 11 })
  expect(keysOf(map)).toEqual(['c', 'large'])
})

test('a value that is replaced, deleted or cleared gives its room back', () => {
  const map = new LruMap<string, Sized>({ max: 10, sizeOf })
  map.set('a', { size: 9 })
  map.set('a', { size: 2 })
  map.set('b', { size: 8 })
  expect(keysOf(map)).toEqual(['a', 'b'])
  map.delete('b')
  map.set('c', { size: 8 })
  expect(keysOf(map)).toEqual(['a', 'c'])
  map.clear()
  map.set('d', { size: 10 })
  expect(keysOf(map)).toEqual(['d'])
})

test('what is missing is made once, and a failure is not kept', () => {
  const map = new LruMap<string, Sized>({ max: 2 })
  const fail = () => {
    throw new Error('no')
  }
  expect(() => map.find('a', fail)).toThrow('no')
  const made = map.find('a', () => ({ size: 1 }))
  expect(map.find('a', fail)).toBe(made)
})
