import { expect, test } from 'vitest'
import { parseRetryAfter } from './retry-after.ts'

const epochMs = Date.UTC(1994, 10, 6, 8, 49, 30)

test.each([
  { value: '0', ms: 0 },
  { value: ' 3 ', ms: 3000 },
  { value: '0.25', ms: 250 },
  { value: '99999999999', ms: 86_400_000 },
  { value: `${'9'.repeat(400)}`, ms: 86_400_000 },
  { value: 'Sun, 06 Nov 1994 08:49:37 GMT', ms: 7000 },
  { value: 'Sunday, 06-Nov-94 08:49:37 GMT', ms: 7000 },
  { value: 'Sun Nov  6 08:49:37 1994', ms: 7000 },
  { value: 'Sun, 06 Nov 1994 08:49:00 GMT', ms: 0 },
  { value: 'Sun, 06 Nov 2094 08:49:00 GMT', ms: 86_400_000 },
  { value: '', ms: undefined },
  { value: '-1', ms: undefined },
  { value: '1e3', ms: undefined },
  { value: 'soon', ms: undefined },
  { value: 'Sunday', ms: undefined },
])('Retry-After: $value', ({ value, ms }) => {
  expect(parseRetryAfter(value, epochMs)).toBe(ms)
})
