import { expect, test } from 'vitest'
import { sentenceEnd, spoken } from './sentences.ts'

test.each([
  ['One. Two', 4],
  ['One', 0],
  ['Pi is 3.14', 0],
  ['a\nb', 2],
  ['Done. ', 5],
])('%j has complete sentences up to %i', (text, end) => {
  expect(sentenceEnd(text)).toBe(end)
})

test('what is read aloud has no signs of Markdown', () => {
  expect(spoken('# A **bold** word\n```js\ncode()\n```\n')).toBe('A bold word (code)')
})
