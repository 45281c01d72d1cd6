import { expect, test } from 'vitest'
import { refuseBadBase64 } from './base64.ts'

test.each(['', 'AA', 'AA==', 'AAA=', 'AAAA', '-_8=', `${'A'.repeat(3_000_000)}==`.slice(0, 3_000_000)])(
  '%# is base64',
  (text) => {
    expect(() => refuseBadBase64(text, 'p')).not.toThrow()
  },
)

test('a bad character is found in megabytes', () => {
  expect(() => refuseBadBase64(`${'A'.repeat(2_000_002)}#A`, 'p')).toThrow(/p is not valid base64/)
})
