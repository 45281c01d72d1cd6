import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type PrefixKey, PrefixMemory } from './prefix-memory.ts'

const key = (low: number, high = 1): PrefixKey => ({ high, low })
const minuteMs = 60_000

test('it knows who has read a prefix, for ten minutes after the last time', () => {
  const memory = new PrefixMemory({ holders: 8, room: 100 })
  expect(memory.holdersOf(key(5), 0)).toEqual([])
  memory.note(key(5), 7, 0)
  memory.note(key(5), 9, 5 * minuteMs)
  expect(memory.holdersOf(key(5), 10 * minuteMs)).toEqual([7, 9])
  expect(memory.holdersOf(key(5), 10 * minuteMs + 100)).toEqual([9])
  memory.note(key(5), 7, 11 * minuteMs)
  expect(memory.holdersOf(key(5), 15 * minuteMs)).toEqual([7, 9])
})

test('keys differ in both halves', () => {
  const memory = new PrefixMemory({ holders: 8, room: 100 })
  memory.note(key(5, 1), 1, 0)
  memory.note(key(5, 2), 2, 0)
  memory.note(key(0xffff_ffff, 0xffff_ffff), 0x7fff_ffff, 0)
  expect([memory.holdersOf(key(5, 1), 0), memory.holdersOf(key(5, 2), 0), memory.holdersOf(key(6, 1), 0)]).toEqual([[1], [2], []])
  expect(memory.holdersOf(key(0xffff_ffff, 0xffff_ffff), 0)).toEqual([0x7fff_ffff])
})

test('of the holders of one prefix, the one that used it longest ago gives way', () => {
  const memory = new PrefixMemory({ holders: 3, room: 100 })
  for (const holder of [1, 2, 3]) memory.note(key(5), holder, holder * 1000)
  memory.note(key(5), 1, 4000)
  memory.note(key(5), 4, 5000)
  expect(memory.holdersOf(key(5), 5000).toSorted()).toEqual([1, 3, 4])
})

test('a full memory forgets what was used longest ago', () => {
  const memory = new PrefixMemory({ holders: 8, room: 1 })
  expect(memory.room).toBe(32)
  for (let prefix = 0; prefix < 32; prefix++) memory.note(key(prefix), 1, prefix * 1000)
  memory.note(key(0), 1, 40_000)
  memory.note(key(99), 1, 41_000)
  const known = Array.from({ length: 100 }, (_, prefix) => prefix).filter(
    (prefix) => memory.holdersOf(key(prefix), 41_000).length > 0,
  )
  expect(known).toEqual([0, ...Array.from({ length: 30 }, (_, index) => index + 2), 99])
})

test('a holder that is doubted twice in a row is forgotten', () => {
  const memory = new PrefixMemory({ holders: 8, room: 100 })
  memory.doubt(key(5), 7)
  memory.note(key(5), 7, 0)
  memory.doubt(key(5), 7)
  memory.note(key(5), 7, 1000)
  memory.confirm(key(5), 7)
  memory.doubt(key(5), 7)
  expect(memory.holdersOf(key(5), 1000)).toEqual([7])
  memory.note(key(5), 7, 2000)
  memory.doubt(key(5), 7)
  expect(memory.holdersOf(key(5), 2000)).toEqual([])
})

test('it grows with what it knows, and never beyond 64 MB', () => {
  const memory = new PrefixMemory({ holders: 8, room: 1000 })
  for (let prefix = 0; prefix < 300; prefix++) memory.note(key(prefix * 7), (prefix % 5) + 1, prefix * 1000)
  memory.doubt(key(7), 2)
  memory.grow(100_000)
  expect(memory.room).toBe(131_072)
  for (let prefix = 0; prefix < 300; prefix++) expect(memory.holdersOf(key(prefix * 7), 300_000)).toEqual([(prefix % 5) + 1])
  memory.grow(10)
  expect(memory.room).toBe(131_072)
  expect(new PrefixMemory({ holders: 8, room: 1e9 }).room * 16).toBe(64 * 1024 * 1024)
})

test('with room for all, it is a map from prefixes to sets', () => {
  const write = fc.record({ prefix: fc.nat(40), holder: fc.integer({ min: 1, max: 5 }) })
  fc.assert(
    fc.property(fc.array(write, { maxLength: 200 }), (writes) => {
      const memory = new PrefixMemory({ holders: 8, room: 4000 })
      const model = new Map<number, Set<number>>()
      for (const { prefix, holder } of writes) {
        memory.note(key(prefix), holder, 0)
        model.set(prefix, (model.get(prefix) ?? new Set()).add(holder))
      }
      for (let prefix = 0; prefix <= 40; prefix++) {
        expect(new Set(memory.holdersOf(key(prefix), 0))).toEqual(model.get(prefix) ?? new Set())
      }
    }),
  )
})
