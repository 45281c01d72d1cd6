import { expect, test } from 'vitest'
import { finishReasons, incompleteReasons } from '../../test/support/finish-reasons.ts'
import { isTruncated } from './is-truncated.ts'

test.each(finishReasons)('an answer that ended with %s is truncated where it is not complete', (reason) => {
  expect(isTruncated({ reason })).toBe(incompleteReasons.includes(reason))
})

test('an answer that ended at a stop sequence is truncated', () => {
  expect(isTruncated({ reason: 'stop', stopSequence: 'END' })).toBe(true)
})
