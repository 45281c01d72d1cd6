import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { roundsOf } from '../../../test/support/process/soak-length.ts'
import { findJsonError } from './json-position.ts'

describe('the position of a JSON error', () => {
  test.each([
    ['{"a": [1, 2.5e-3, "x\\u00e9", true, null, {}]}', undefined],
    [' [] ', undefined],
    ['', 0],
    ['{"a": 1', 7],
    ['{"a": 1,}', 8],
    ['[1 2]', 3],
    ['[1,]', 3],
    ["{'a': 1}", 1],
    ['{"a" 1}', 5],
    ['{"a": tru}', 6],
    ['{"a": "x\ny"}', 6],
    ['{} x', 3],
    ['[}', 1],
    ['"abc', 4],
    ['"ab\\u00', 7],
    ['"ab\\', 4],
    ['["ab\\x"]', 1],
    ['01', 1],
  ])('%j: %j', (text, position) => {
    expect(findJsonError(text)).toBe(position)
  })

  test('a long string does not overflow the stack', () => {
    expect(findJsonError(`["${'a'.repeat(10_000_000)}" 1]`)).toBe(10_000_004)
  })

  test('agrees with JSON.parse on validity, also for damaged texts', () => {
    const damaged = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom('', ',', '"', '}', ']', '{', '\\', '0', ' ', 'e'))
      .map(([json, at, char]) => {
        const index = at % (json.length + 1)
        return json.slice(0, index) + char + json.slice(index + 1)
      })
    fc.assert(
      fc.property(fc.oneof(fc.json(), damaged), (text) => {
        expect(findJsonError(text) === undefined).toBe(isJson(text))
      }),
      { numRuns: roundsOf(400, 2000) },
    )
  })
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
