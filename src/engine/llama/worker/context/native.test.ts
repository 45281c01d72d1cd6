import type { BatchItem } from 'node-llama-cpp'
import { describe, expect, test } from 'vitest'
import { inOrderOfSequences } from './native.ts'

/** Node-llama-cpp shows the number of a sequence as its priority. */
const item = (sequence: BatchItem['evaluationPriority'], tokens: number): BatchItem => ({
  tokens: Array.from({ length: tokens }, () => 7 as BatchItem['tokens'][number]),
  logits: [],
  evaluationPriority: sequence,
})

describe('the order of sequences in a batch', () => {
  test.each<{ name: string; items: BatchItem[]; size: number; batch: [sequence: number, tokens: number][] }>([
    {
      name: 'is rising, in whatever order they came',
      items: [item(3, 1), item(1, 1), item(2, 1)],
      size: 8,
      batch: [
        [1, 1],
        [2, 1],
        [3, 1],
      ],
    },
    {
      name: 'ends where the batch is full',
      items: [item(4, 1), item(2, 6), item(3, 6)],
      size: 8,
      batch: [
        [2, 6],
        [3, 2],
      ],
    },
    { name: 'of nothing is nothing', items: [], size: 8, batch: [] },
  ])('$name', ({ items, size, batch }) => {
    const chosen = inOrderOfSequences({ items, size })
    expect(chosen.map(({ item: { evaluationPriority }, processAmount }) => [evaluationPriority, processAmount])).toEqual(batch)
    expect(chosen.every(({ item: one }) => items.includes(one))).toBe(true)
  })
})
