import { describe, expect, test } from 'vitest'
import { JsonScanner, jsonLimits } from './json-scanner.ts'

/** Scans a text in pieces of this size. */
function scan(text: string, pieceBytes = 65_536): void {
  const scanner = new JsonScanner('the body')
  const bytes = Buffer.from(text)
  for (let start = 0; start < bytes.length; start += pieceBytes) scanner.push(bytes.subarray(start, start + pieceBytes))
}

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
const { values, texts, containers, fields, depth, digits } = jsonLimits

describe('JSON is counted while it arrives', () => {
  test.each([
    ['numbers', `[${'1,'.repeat(values + 1)}1]`, 'body-too-large', 'more than 1000000 values'],
    ['texts', `[${'"a",'.repeat(texts + 1)}1]`, 'body-too-large', 'more than 200000 texts'],
    ['lists', `[${'[1],'.repeat(containers + 1)}1]`, 'body-too-large', 'more than 250000 lists and objects'],
    ['objects', `[${'{},'.repeat(containers + 1)}1]`, 'body-too-large', 'more than 250000 lists and objects'],
    ['nested lists', `[${`${nested(depth - 2)},`.repeat(containers / 100)}1]`, 'body-too-large', 'more than 250000 lists'],
    ['fields', `[${'{"a":1},'.repeat(fields + 1)}1]`, 'body-too-large', 'more than 45000 named fields'],
    [
      'digits',
      `[${'1.2345678901234567e-5,'.repeat(digits / 20)}1]`,
      'body-too-large',
      'more than 10000000 bytes outside of texts',
    ],
    ['levels', nested(depth + 1), 'invalid-json', 'more than 128 levels deep at byte 128'],
    ['levels of objects', '{"a":'.repeat(200_000), 'invalid-json', 'levels deep'],
    ['levels behind strings with escapes', `["\\\\", "\\"", ${nested(depth)}]`, 'invalid-json', 'levels deep'],
  ])('too many %s are refused', (_, text, code, message) => {
    expect(() => scan(text)).toThrow(expect.objectContaining({ code, message: expect.stringContaining(message) }))
  })

  test.each([
    ['the deepest nesting', nested(depth)],
    ['as many texts as allowed', `[${'"a",'.repeat(texts - 1)}"a"]`],
    ['as many lists as allowed', `[${'[],'.repeat(containers - 2)}[]]`],
    ['as many numbers as allowed', `[${'1,'.repeat(values - 1)}1]`],
    ['as many ids of tokens, on lines of their own', `[${'\n  123456,'.repeat(values - 1)}1]`],
    ['texts and white space of any length', `[${' \t\r\n'.repeat(digits / 2)}"${'1'.repeat(digits * 2)}"]`],
    ['what strings contain', JSON.stringify({ text: `${'[{,:"\\'.repeat(400_000)}\\` })],
    ['a string without an end', `"${'[,'.repeat(1_000_000)}`],
  ])('%s pass', (_, text) => {
    expect(() => scan(text)).not.toThrow()
  })

  test('it does not matter where the pieces are cut', () => {
    const text = `{"a\\\\": "\\"[[${'\\\\'.repeat(5)}\\"", "b": ["[", "\\\\", ${nested(depth - 1)}]}`
    for (let pieceBytes = 1; pieceBytes <= text.length; pieceBytes++) {
      const scanAll = () => scan(text, pieceBytes)
      expect(scanAll, `pieces of ${pieceBytes}`).toThrow(/levels deep at byte 171$/)
    }
  })
})
