import { expect, test } from 'vitest'
import { bytes } from '../../test/support/parts.ts'
import { UrlCache } from './url-cache.ts'

const one = { owner: 'a', kind: 'image', url: 'https://x.example/1' } as const
const picture = bytes('AAAA', 'image/png')

test('what was fetched is there for its caller, kind and URL', () => {
  const cache = new UrlCache({ maxBytes: 100, ttlMs: 1000, now: () => 0 })
  cache.set(one, picture)
  expect(cache.get(one)).toBe(picture)
  expect(cache.get({ ...one, owner: 'b' })).toBeUndefined()
  expect(cache.get({ ...one, kind: 'file' })).toBeUndefined()
  expect(cache.get({ ...one, url: 'https://x.example/2' })).toBeUndefined()
})

test('it grows old', () => {
  let now = 0
  const cache = new UrlCache({ maxBytes: 100, ttlMs: 1000, now: () => now })
  cache.set(one, picture)
  now = 999
  expect(cache.get(one)).toBe(picture)
  now = 1000
  expect(cache.get(one)).toBeUndefined()
})

test('it never holds more than its limit, and forgets what was not used for the longest time', () => {
  const cache = new UrlCache({ maxBytes: 10, ttlMs: 1000, now: () => 0 })
  const of = (url: string) => ({ ...one, url })
  cache.set(of('1'), picture)
  cache.set(of('2'), picture)
  cache.get(of('1'))
  cache.set(of('3'), picture)
  expect(['1', '2', '3'].map((url) => cache.get(of(url)) !== undefined)).toEqual([true, false, true])
  cache.set(of('4'), bytes('A'.repeat(12), 'image/png'))
  expect(cache.get(of('4'))).toBeUndefined()
  expect(cache.get(of('1'))).toBe(picture)
})

test('nothing is kept for no time, or without room', () => {
  for (const options of [
    { maxBytes: 0, ttlMs: 1000 },
    { maxBytes: 100, ttlMs: 0 },
  ]) {
    const cache = new UrlCache({ ...options, now: () => 0 })
    cache.set(one, picture)
    expect(cache.get(one)).toBeUndefined()
  }
})
