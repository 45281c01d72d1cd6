import { describe, expect, test } from 'vitest'
import { pickSlot } from './slots.ts'

const slot = (name: string, tokens: number[], options: { busy?: boolean; lastUsed?: number } = {}) => ({
  name,
  busy: options.busy ?? false,
  lastUsed: options.lastUsed ?? 0,
  sequence: { contextTokens: tokens as never[] },
})
const prompt = Uint32Array.of(1, 2, 3, 4)

describe('pickSlot', () => {
  test.each([
    { name: 'the longest shared prefix wins', slots: [slot('a', [1]), slot('b', [1, 2, 9]), slot('c', [])], picked: 'b' },
    { name: 'a busy slot is never picked', slots: [slot('a', [1, 2, 3, 4], { busy: true }), slot('b', [1])], picked: 'b' },
    {
      name: 'of equals the one used longest ago',
      slots: [slot('a', [1], { lastUsed: 5 }), slot('b', [1], { lastUsed: 2 })],
      picked: 'b',
    },
    {
      name: 'a prefix must begin at the beginning',
      slots: [slot('a', [9, 2, 3, 4], { lastUsed: 1 }), slot('b', [])],
      picked: 'b',
    },
    { name: 'none is free', slots: [slot('a', [1], { busy: true })], picked: undefined },
  ])('$name', ({ slots, picked }) => {
    expect(pickSlot(slots, prompt)?.name).toBe(picked)
  })
})
