import { describe, expect, test } from 'vitest'
import { Gaps } from './gaps.ts'

const single = (...sequences: number[]) => sequences.map((sequence) => ({ sequence, tokens: 1 }))
const roomy = { most: 100, hasRoom: () => true }

/** Knows how long passes of so many sequences take. */
function createGaps(times: Readonly<Record<number, number>>): Gaps {
  const gaps = new Gaps()
  for (const [sequences, ms] of Object.entries(times)) {
    const pass = single(...Array.from({ length: Number(sequences) }, (_, id) => id))
    for (let count = 0; count < 2; count++) gaps.learn(pass, ms)
  }
  return gaps
}

/** Where reading the weights takes the time. */
const readsWeights = { 1: 82, 2: 118, 4: 122, 8: 152, 16: 187 }
/** Where llama.cpp computes a single token in a way of its own (measured on a Zen 5, see pass-size.ts). */
const computes = { 1: 6.3, 2: 16.5, 3: 22.6, 4: 27.7, 8: 45.9, 16: 77.5 }

describe('gaps between the sequences of a pass', () => {
  test.each([
    { name: 'of one', pass: single(0, 2), filled: [1] },
    { name: 'at each second', pass: single(0, 2, 4, 6), filled: [1, 3, 5] },
    { name: 'of different lengths', pass: single(3, 4, 7, 9), filled: [5, 6, 8] },
    { name: 'before the first and after the last', pass: single(5, 6), filled: [] },
    { name: 'that are longer than what is known to be worth it', pass: single(0, 10), filled: [] },
  ])('gaps are filled where that joins two passes: $name', ({ pass, filled }) => {
    expect(createGaps(readsWeights).fill(pass, roomy)).toEqual(filled)
  })

  test('gaps are filled where nothing was measured yet', () => {
    expect(new Gaps().fill(single(0, 3), roomy)).toEqual([1, 2])
  })

  test('gaps stay where two passes are faster than one', () => {
    const gaps = createGaps(computes)
    expect(gaps.fill(single(0, 2), roomy)).toEqual([])
    expect(gaps.fill(single(0, 1, 2, 3, 5, 6, 7, 8), roomy)).toEqual([4])
  })

  test('gaps stay where a trial took longer, apart from a rare further trial', () => {
    const gaps = createGaps({ 1: 6.3 })
    const passes = Array.from({ length: 1000 }, () => {
      const filled = gaps.fill(single(0, 2), roomy)
      if (filled.length > 0) gaps.learn(single(0, 1, 2), 22.6)
      return filled.length
    })
    expect(passes.slice(0, 4)).toEqual([1, 1, 0, 0])
    expect(passes.filter((filled) => filled > 0).length).toBeLessThan(10)
    expect(passes.slice(4).some((filled) => filled > 0)).toBe(true)
  })

  test('gaps stay where a sequence in them is full, or the batch is', () => {
    const gaps = createGaps(readsWeights)
    expect(gaps.fill(single(0, 2, 4), { ...roomy, hasRoom: (sequence) => sequence !== 1 })).toEqual([3])
    expect(gaps.fill(single(0, 3, 5), { ...roomy, most: 1 })).toEqual([4])
  })

  test('a step of a prompt ends a gap, and needs none filled beside it', () => {
    const gaps = createGaps(readsWeights)
    const prompt = (sequence: number) => ({ sequence, tokens: 8 })
    expect(gaps.fill([...single(0), prompt(2), ...single(3)], roomy)).toEqual([1])
    expect(gaps.fill([...single(0, 1), prompt(5)], roomy)).toEqual([])
  })

  test('a pass with gaps or steps of prompts is not measured', () => {
    const gaps = createGaps({ 1: 5, 3: 20 })
    for (let count = 0; count < 9; count++) {
      gaps.learn(single(0, 1, 5), 1)
      gaps.learn([...single(0, 1), { sequence: 2, tokens: 8 }], 1)
    }
    expect(gaps.fill(single(0, 2), roomy)).toEqual([])
  })
})
