import { expect, test } from 'vitest'
import { Letters, toNotifications } from './postgres-carrier.ts'

const long = { from: 'a', text: '"\\\u0000Grüße 🌄'.repeat(20_000) }

test('a short message is one notification, as it is', () => {
  expect(toNotifications({ from: 'a', n: 1 })).toEqual(['{"from":"a","n":1}'])
  expect(new Letters().take('{"from":"a","n":1}')).toEqual({ from: 'a', n: 1 })
})

test('a long message comes in parts that PostgreSQL takes, in any order, beside those of others', () => {
  const letters = new Letters()
  const parts = toNotifications(long)
  for (const part of parts) expect(Buffer.byteLength(part)).toBeLessThan(8000)
  const other = toNotifications({ ...long, from: 'b' })
  const taken = parts.toReversed().flatMap((part, at) => [letters.take(part), letters.take(other[at] as string)])
  expect(taken.filter((message) => message !== undefined)).toEqual([long, { ...long, from: 'b' }])
})

test('what anybody else writes is nothing, or what it says', () => {
  const letters = new Letters()
  expect(letters.take('no JSON')).toBeUndefined()
  expect(letters.take('null')).toBeNull()
  // Its sender has ended.
  for (let at = 0; at < 100; at += 1) letters.take(JSON.stringify({ letter: `${at}`, at: 0, of: 2, base64: '' }))
  expect(letters.take(JSON.stringify({ letter: '0', at: 1, of: 2, base64: '' }))).toBeUndefined()
})
