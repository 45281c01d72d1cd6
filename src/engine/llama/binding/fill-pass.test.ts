import { describe, expect, test } from 'vitest'
import { fillPass } from './fill-pass.ts'

const work = (sequence: number, tokens: number, computed = 0) => ({
  sequence: { id: sequence },
  tokens: Array.from({ length: tokens }, () => 7),
  computed,
})

describe('what the next pass computes', () => {
  test.each<{ name: string; queue: ReturnType<typeof work>[]; size: number; pass: [sequence: number, tokens: number][] }>([
    {
      name: 'is in the order of sequences, in any order of arrival',
      queue: [work(3, 1), work(1, 1), work(2, 1)],
      size: 8,
      pass: [
        [1, 1],
        [2, 1],
        [3, 1],
      ],
    },
    {
      name: 'ends where the batch is full',
      queue: [work(4, 1), work(2, 6), work(3, 6)],
      size: 8,
      pass: [
        [2, 6],
        [3, 2],
      ],
    },
    { name: 'begins after what earlier passes have computed', queue: [work(1, 6, 4)], size: 8, pass: [[1, 2]] },
    { name: 'of nothing is nothing', queue: [], size: 8, pass: [] },
  ])('the next pass $name', ({ queue, size, pass }) => {
    const filled = fillPass(queue, size)
    expect(filled.map((part) => [part.work.sequence.id, part.count])).toEqual(pass)
    expect(filled.every((part) => queue.includes(part.work))).toBe(true)
  })
})
