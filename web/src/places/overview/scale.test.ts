import { expect, test } from 'vitest'
import { pathOf, topOf } from './scale.ts'

test('an axis ends at a round number', () => {
  expect([[0], [0.3], [1], [3], [40], [51], [undefined, 7]].map(topOf)).toEqual([1, 0.5, 1, 5, 50, 100, 10])
})

test('a line is interrupted where nothing is known', () => {
  const scale = { x: (index: number) => index, top: 10, height: 12 }
  expect(pathOf([0, 10, undefined, 5], scale)).toBe('M0.0 11.0L1.0 1.0M3.0 6.0h3')
})
