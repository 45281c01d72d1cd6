import { describe, expect, test } from 'vitest'
import { countWords, splitWords } from './words.ts'

const everySpace = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code)).filter((char) => /\s/.test(char))

describe('words are those of a regular expression', () => {
  test.each([
    '',
    ' ',
    'a',
    'a b',
    ' a  b ',
    '\n\na\tb\u3000c\ufeff',
    'é 中文\u00a0x',
    everySpace.join('x'),
    `x${everySpace.join('')}`,
  ])('%j has the words of the regular expression', async (text) => {
    expect(splitWords(text)).toEqual(text.match(/\s*\S+|\s+/g) ?? [])
    expect(await countWords([text, text])).toBe(2 * (text.match(/\S+/g)?.length ?? 0))
  })
})

test('after the most words, the rest of the text is the last', () => {
  expect(splitWords('a b c d ', 2)).toEqual(['a', ' b c d '])
  expect(splitWords('a b', 5)).toEqual(['a', ' b'])
})

test('megabytes of white space are two words', async () => {
  const text = `${' '.repeat(4_000_000)}x${'\n'.repeat(4_000_000)}`
  expect(splitWords(text).map(({ length }) => length)).toEqual([4_000_001, 4_000_000])
  expect(await countWords([text])).toBe(1)
})
