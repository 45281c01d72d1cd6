import { expect, test } from 'vitest'
import { BodyRoom } from './body-room.ts'

test('bodies share the room, and a closed one gives its part back', () => {
  const room = new BodyRoom(1_000_000)
  const first = room.open()
  expect(first.grow(600_000)).toBe(true)
  const second = room.open()
  expect(second.grow(300_000)).toBe(true)
  expect(second.grow(300_000)).toBe(false)
  first.close()
  first.close()
  expect(first.grow(1)).toBe(false)
  expect(second.grow(600_000)).toBe(true)
  second.close()
  expect(room.open().grow(1_000_000)).toBe(true)
})

test('short bodies need no room, however many there are', () => {
  const room = new BodyRoom(100_000)
  expect(room.open().grow(100_000)).toBe(true)
  const short = room.open()
  expect(short.grow(64 * 1024)).toBe(true)
  expect(short.grow(1)).toBe(false)
})
