import { expect, test } from 'vitest'
import { finishReasons, incompleteReasons } from '../../test/support/finish-reasons.ts'
import { wasCut } from './was-cut.ts'

test.each(finishReasons)('an answer that ended with %s was cut off where it is not complete', (reason) => {
  expect(wasCut({ reason })).toBe(incompleteReasons.includes(reason))
})

test('an answer that ended at a stop text was cut off', () => {
  expect(wasCut({ reason: 'stop', stopSequence: 'END' })).toBe(true)
})
