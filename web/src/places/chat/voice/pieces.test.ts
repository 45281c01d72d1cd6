import { expect, test } from 'vitest'
import { piecesOf } from './pieces.ts'

test.each([
  ['paragraphs', `${'word '.repeat(100)}\n\n${'word '.repeat(180)}`, [499, 899]],
  ['sentences', 'Twelve chars'.padEnd(599, 'x').concat('. ', 'y'.repeat(600)), [600, 600]],
  ['words', 'wordy '.repeat(300), [995, 803]],
  ['nothing', 'x'.repeat(2500), [1000, 1000, 500]],
  ['a short text', ' Hello. ', [6]],
  ['an empty text', ' \n', []],
])('a text to read ends its pieces at %s', (_, text, lengths) => {
  const pieces = piecesOf(text)
  expect(pieces.map((piece) => piece.length)).toEqual(lengths)
  expect(pieces.join('').replaceAll(/\s/g, '')).toBe(text.replaceAll(/\s/g, ''))
})
