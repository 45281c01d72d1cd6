import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { block, stepLength } from './step-length.ts'

/** The lengths of all steps of a prompt. */
function stepsOf(tokens: number, most: number, isBesideStreams = false): number[] {
  const steps: number[] = []
  for (let remaining = tokens; remaining > 0; remaining -= steps.at(-1) ?? 0) {
    steps.push(stepLength({ remaining, most, isBesideStreams }))
  }
  return steps
}

describe('the steps of a prompt', () => {
  test.each<[string, number[], number[]]>([
    ['are one where it fits', stepsOf(23, 32), [23]],
    ['are one where it fits, in whatever blocks', stepsOf(84, 128), [84]],
    ['are equal below a block', stepsOf(23, 16), [12, 11]],
    ['end in blocks', stepsOf(300, 64), [44, 64, 64, 64, 64]],
    ['end in blocks of the longest step', stepsOf(500, 128), [116, 128, 128, 128]],
    ['have one token more beside streams, which is computed with theirs', stepsOf(300, 64, true), [40, 65, 65, 65, 65]],
  ])('the steps of a prompt %s', (_, steps, expected) => expect(steps).toEqual(expected))

  test('the steps of a prompt are as few as possible or one more, and none is empty or too long', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 600 }), fc.boolean(), (tokens, most, beside) => {
        const steps = stepsOf(tokens, most, beside)
        const longest = most < block ? most : Math.floor(most / block) * block + (beside ? 1 : 0)
        expect(steps.every((step) => step >= 1 && step <= longest)).toBe(true)
        expect(steps.length).toBeLessThanOrEqual(Math.ceil(tokens / longest) + 1)
      }),
    )
  })
})
