import { describe, expect, test } from 'vitest'
import { isWorthSaving, pickEvicted, pickReplaced, pickRestored, type StoredPrefix } from './prefix-rules.ts'
import { sharedPrefix } from './slots.ts'

/** `length` tokens; the first `shared` of them are those of every conversation. */
const tokens = (length: number, { shared = length, of = 1 } = {}) =>
  Int32Array.from({ length }, (_, index) => (index < shared ? 7 : 100 * of + (index % 50)))
const stored = (name: string, of: Partial<StoredPrefix>) => ({
  name,
  owner: 'anna',
  tokens: tokens(0),
  sizeBytes: 100,
  pieces: [],
  usedAtMs: 0,
  ...of,
})
const anna = (length: number) => ({ owner: 'anna', tokens: tokens(length) })
const names = (prefixes: readonly { readonly name: string }[]) => prefixes.map(({ name }) => name)

describe('isWorthSaving', () => {
  test.each([
    { name: 'a long prefix that goes completely', held: 600, next: tokens(0), disk: [], isSaved: true },
    { name: 'a prefix that is too short', held: 511, next: tokens(0), disk: [], isSaved: false },
    { name: 'the next turn of the same conversation', held: 600, next: tokens(900), disk: [], isSaved: false },
    { name: 'too little of it goes', held: 1000, next: tokens(900, { shared: 489 }), disk: [], isSaved: false },
    { name: 'enough of it goes', held: 1000, next: tokens(900, { shared: 488 }), disk: [], isSaved: true },
    { name: 'the disk has it', held: 600, next: tokens(0), disk: [stored('same', { tokens: tokens(600) })], isSaved: false },
    {
      name: 'the disk has nearly all',
      held: 663,
      next: tokens(0),
      disk: [stored('same', { tokens: tokens(600) })],
      isSaved: false,
    },
    {
      name: 'the disk has too little',
      held: 664,
      next: tokens(0),
      disk: [stored('same', { tokens: tokens(600) })],
      isSaved: true,
    },
    {
      name: 'the disk has it, and can return to too little of it',
      held: 600,
      next: tokens(0),
      disk: [stored('longer', { tokens: tokens(900), checkpoints: [400] })],
      isSaved: true,
    },
    {
      name: 'only another owner has it on disk',
      held: 600,
      next: tokens(0),
      disk: [stored('bens', { owner: 'ben', tokens: tokens(600) })],
      isSaved: true,
    },
  ])('$name: $isSaved', ({ held, next, disk, isSaved }) => {
    const kept = sharedPrefix(anna(held).tokens, next)
    expect(isWorthSaving(anna(held), { kept, stored: disk, minTokens: 512 })).toBe(isSaved)
  })
})

describe('pickRestored', () => {
  const long = stored('long', { tokens: tokens(900) })
  const short = stored('short', { tokens: tokens(600) })
  const pointed = stored('pointed', { tokens: tokens(1100), checkpoints: [500, 1050] })
  const returning = stored('returning', { tokens: tokens(1200), checkpoints: [500, 950] })
  const other = stored('other', { tokens: tokens(900, { shared: 20 }) })
  const bens = stored('bens', { owner: 'ben', tokens: tokens(1000) })

  test.each([
    { name: 'the longest shared prefix', disk: [short, long, other], kept: 0, picked: 'long' },
    { name: 'never that of another owner', disk: [bens, short], kept: 0, picked: 'short' },
    { name: 'none without a gain', disk: [long], kept: 837, picked: undefined },
    { name: 'a gain that is just enough', disk: [long], kept: 836, picked: 'long' },
    { name: 'none of another conversation', disk: [other], kept: 0, picked: undefined },
    { name: 'none of nothing', disk: [], kept: 0, picked: undefined },
    { name: 'the one that can return to most', disk: [pointed, returning, short], kept: 0, picked: 'returning' },
    { name: 'one that needs no return', disk: [stored('all', { tokens: tokens(700), checkpoints: [] })], kept: 0, picked: 'all' },
    { name: 'none that can return to too little', disk: [pointed], kept: 437, picked: undefined },
  ])('restored is $name', ({ disk, kept, picked }) => {
    expect(pickRestored(disk, anna(1000), kept)?.name).toBe(picked)
  })
})

describe('pickReplaced', () => {
  const added = stored('added', { tokens: tokens(900) })

  test.each([
    { name: 'an earlier turn', before: stored('earlier', { tokens: tokens(700) }), replaced: ['earlier'] },
    {
      name: 'an earlier turn whose end was rendered otherwise',
      before: stored('earlier', { tokens: tokens(700, { shared: 637 }) }),
      replaced: ['earlier'],
    },
    { name: 'another conversation', before: stored('other', { tokens: tokens(700, { shared: 636 }) }), replaced: [] },
    { name: 'that of another owner', before: stored('bens', { owner: 'ben', tokens: tokens(700) }), replaced: [] },
  ])('replaced is $name', ({ before, replaced }) => {
    expect(names(pickReplaced([before, added], added))).toEqual(replaced)
  })
})

describe('pickEvicted', () => {
  const old = stored('old', { usedAtMs: 1 })
  const middle = stored('middle', { usedAtMs: 2 })
  const recent = stored('recent', { usedAtMs: 3 })
  const huge = stored('huge', { usedAtMs: 4, sizeBytes: 1000 })
  const common = { sizeBytes: 300 }
  const first = stored('first', { usedAtMs: 5, pieces: [common] })
  const second = stored('second', { usedAtMs: 6, pieces: [common, { sizeBytes: 50 }] })

  test.each([
    { name: 'none while all fit', disk: [recent, old, middle], maxBytes: 300, evicted: [] },
    { name: 'the least recently used', disk: [recent, old, middle], maxBytes: 299, evicted: ['old'] },
    { name: 'as many as necessary', disk: [recent, old, middle], maxBytes: 100, evicted: ['old', 'middle'] },
    { name: 'none where all fit because a piece of two is one', disk: [first, second], maxBytes: 550, evicted: [] },
    { name: 'the older of two that do not fit together', disk: [first, second], maxBytes: 549, evicted: ['first'] },
    { name: 'one that alone is too large, with its pieces', disk: [second, old], maxBytes: 449, evicted: ['second'] },
    { name: 'one that alone is too large, and no other', disk: [recent, old, huge], maxBytes: 200, evicted: ['huge'] },
  ])('evicted is $name', ({ disk, maxBytes, evicted }) => {
    expect(names(pickEvicted(disk, maxBytes))).toEqual(evicted)
  })
})
