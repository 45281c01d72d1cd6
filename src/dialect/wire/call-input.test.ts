import { expect, test } from 'vitest'
import { callInput } from './call-input.ts'

test.each([[undefined], [null], [''], [' \n'], ['null'], [' null '], ['[]'], [' [ ]'], ['{}'], [{}]])(
  'no arguments are an empty object: %j',
  (given) => {
    expect(callInput(given)).toBe('{}')
  },
)

test.each([
  ['{"a": 1.0}', '{"a": 1.0}'],
  ['nullify', 'nullify'],
  ['{"a', '{"a'],
  [{ a: [null] }, '{"a":[null]}'],
])('other arguments are as they were sent: %j', (given, input) => {
  expect(callInput(given)).toBe(input)
})
