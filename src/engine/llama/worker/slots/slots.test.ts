import { describe, expect, test } from 'vitest'
import { pickRecall, pickSlot, sharedPrefix } from './slots.ts'

type SlotOptions = { busy?: boolean; lastUsed?: number; pinnedTokens?: number; owner?: string }
const slot = (name: string, tokens: number[], options: SlotOptions = {}) => ({
  name,
  owner: options.owner ?? 'anna',
  busy: options.busy ?? false,
  lastUsed: options.lastUsed ?? 0,
  pinnedTokens: options.pinnedTokens ?? 0,
  sequence: { contextTokens: tokens as never[], reusable: (shared: number) => shared },
})
const prompt = Uint32Array.of(1, 2, 3, 4)
const long = Array.from({ length: 40 }, (_, index) => index)

describe('pickSlot', () => {
  test.each<{ name: string; slots: ReturnType<typeof slot>[]; tokens?: ArrayLike<number>; picked: string | undefined }>([
    { name: 'the longest shared prefix wins', slots: [slot('a', [1]), slot('b', [1, 2, 9]), slot('c', [])], picked: 'b' },
    { name: 'a busy slot is never picked', slots: [slot('a', [1, 2, 3, 4], { busy: true }), slot('b', [1])], picked: 'b' },
    {
      name: 'of equals the least recently used one',
      slots: [slot('a', [1], { lastUsed: 5 }), slot('b', [1], { lastUsed: 2 })],
      picked: 'b',
    },
    {
      name: 'the prefix of another owner does not count',
      slots: [slot('a', [1, 2, 3, 4], { owner: 'ben', lastUsed: 1 }), slot('b', [])],
      picked: 'b',
    },
    {
      name: 'a prefix must begin at the beginning',
      slots: [slot('a', [9, 2, 3, 4], { lastUsed: 1 }), slot('b', [])],
      picked: 'b',
    },
    {
      name: 'a neighbour of a busy slot, so that both are computed in one pass',
      slots: [slot('a', []), slot('b', [1, 2]), slot('c', [], { lastUsed: 3 }), slot('d', [9], { busy: true })],
      picked: 'c',
    },
    {
      name: 'the slot between two busy ones comes before one beside them',
      slots: [slot('a', []), slot('b', [], { busy: true }), slot('c', [], { lastUsed: 3 }), slot('d', [], { busy: true })],
      picked: 'c',
    },
    {
      name: 'a long prefix weighs more than a gap',
      slots: [slot('a', long), slot('b', []), slot('c', [], { busy: true })],
      tokens: long,
      picked: 'a',
    },
    {
      name: 'a slot whose pinned tokens would go comes last',
      slots: [slot('a', [1, 2, 9], { pinnedTokens: 3 }), slot('b', [], { lastUsed: 5 })],
      picked: 'b',
    },
    {
      name: 'a prompt that begins with the pinned tokens gets their slot',
      slots: [slot('a', [1, 2, 9], { pinnedTokens: 2, lastUsed: 5 }), slot('b', [])],
      picked: 'a',
    },
    { name: 'pinned tokens go where no other slot is free', slots: [slot('a', [9], { pinnedTokens: 1 })], picked: 'a' },
    { name: 'none is free', slots: [slot('a', [1], { busy: true })], picked: undefined },
  ])('the slot for a prompt is $name', ({ slots, picked, tokens = prompt }) => {
    expect(pickSlot(slots, { owner: 'anna', tokens })?.name).toBe(picked)
  })
})

describe('pickRecall', () => {
  const [a, b] = [{}, {}]
  const held = (name: string, holder: object, isRecalled = false) => ({ name, holder, isRecalled })

  test.each([
    { name: 'a holder keeps its only slot', slots: [held('1', a), held('2', b)], picked: undefined },
    { name: 'the last of two', slots: [held('1', a), held('2', a), held('3', b)], picked: '2' },
    {
      name: 'the holder with the most gives one',
      slots: [held('1', a), held('2', b), held('3', b), held('4', a), held('5', a)],
      picked: '5',
    },
    { name: 'recalled slots do not count', slots: [held('1', a), held('2', a, true), held('3', b)], picked: undefined },
    {
      name: 'a recalled slot of another holder changes nothing',
      slots: [held('1', a), held('2', a), held('3', a, true)],
      picked: '2',
    },
    { name: 'nothing is held', slots: [], picked: undefined },
  ])('the recalled slot is $name', ({ slots, picked }) => {
    expect(pickRecall(slots)?.name).toBe(picked)
  })
})

test.each([
  { a: [], b: [], shared: 0 },
  { a: [1, 2, 3], b: [1, 2], shared: 2 },
  { a: [1, 2], b: [1, 3, 2], shared: 1 },
  { a: [2], b: [1], shared: 0 },
])('$a and $b share $shared tokens', ({ a, b, shared }) => {
  expect(sharedPrefix(a, Uint32Array.from(b))).toBe(shared)
})
