import { expect, test } from 'vitest'
import { printable, printableJson, printableLines, printableProse } from './printable.ts'

const codes = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => String.fromCharCode(from + at))
const controls = [...codes(0, 0x1f), ...codes(0x7f, 0x9f)]
const breaks = ['\u2028', '\u2029']
const marks = ['\u061c', '\u200e', '\u200f', ...codes(0x202a, 0x202e), ...codes(0x2066, 0x2069)]

test('nothing that a terminal obeys is left', () => {
  for (const found of [...controls, ...breaks, ...marks]) {
    const shown = printable(`a${found}b`)
    expect(shown).toMatch(/^a\\(u[\da-f]{4}|[nrt])b$/)
    expect(printableLines(`a\n${found === '\n' ? '' : found}b`).split('\n')[0]).toBe('a')
    if (found !== '\n') expect(printableJson(found)).toMatch(/^\\u[\da-f]{4}$/)
  }
  expect(printable('\u001b[2J\r\nmodel=\u009b31m')).toBe('\\u001b[2J\\r\\nmodel=\\u009b31m')
})

test('letters of every script, emoji and spaces stay', () => {
  const text = 'Köln 東京 שלום مرحبا 👩‍💻 \\n "q" a\u00a0b'
  expect([printable(text), printableJson(text), printableProse(text)]).toEqual([text, text, text])
})

test('prose keeps its lines and its direction, and a line of JSON what it means', () => {
  expect(printableProse('a\n\tb\u200f\u001b[1m\r')).toBe('a\n\tb\u200f\\u001b[1m\\u000d')
  const value = { text: [...controls, ...breaks, ...marks].join('') }
  const line = printableJson(`${JSON.stringify(value)}\n`)
  expect(JSON.parse(line)).toEqual(value)
  expect(line).toMatch(/^[\x20-\x7e]+\n$/)
})
