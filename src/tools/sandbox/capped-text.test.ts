import { expect, test } from 'vitest'
import { CappedText } from './capped-text.ts'

function capped(text: string, pieceBytes: number): string {
  const bytes = Buffer.from(text)
  const result = new CappedText()
  for (let at = 0; at < bytes.length; at += pieceBytes) result.push(bytes.subarray(at, at + pieceBytes))
  return result.finish()
}

test('a short text is itself, however it arrives', () => {
  const text = 'Grüße, 世界 🙂\n'.repeat(100)
  for (const pieceBytes of [1, 2, 3, 7, 10_000]) expect(capped(text, pieceBytes)).toBe(text)
})

test('of a long text both ends are left, with a note between them, within 8,000 characters', () => {
  const text = `begin ${'x'.repeat(50_000)} end`
  const result = capped(text, 777)
  expect(result).toMatch(/^begin x+\n\[… \d+ characters left out …\]\nx+ end$/)
  expect(result.length).toBeLessThanOrEqual(8000)
  const [, leftOut] = /(\d+) characters/.exec(result) ?? []
  expect(result.replace(/\n\[.*\]\n/, '').length + Number(leftOut)).toBe(text.length)
})

test('what is left does not depend on the pieces', () => {
  const text = Array.from({ length: 5000 }, (_, index) => `${index}`).join(' ')
  expect(new Set([1, 10, 4096, 100_000].map((pieceBytes) => capped(text, pieceBytes))).size).toBe(1)
})

test('bytes that are not text become replacement characters', () => {
  const result = new CappedText()
  result.push(Buffer.from([0x61, 0xff, 0xf0, 0x9f]))
  expect(result.finish()).toMatch(/^a\uFFFD+$/)
})
