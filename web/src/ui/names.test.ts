import { expect, test } from 'vitest'
import { plainName } from './names.ts'

test.each([
  ['invoice\u202Egnp.exe', 'invoicegnp.exe'],
  ['\u2067a\u2069\u2066b\u202A\u202Bc\u202C\u202D', 'abc'],
  // A mark that affects only its neighbours stays.
  ['שלום\u200F 5', 'שלום\u200F 5'],
])('%j is shown as %j', (name, shown) => {
  expect(plainName(name)).toBe(shown)
})
