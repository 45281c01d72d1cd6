import { describe, expect, test } from 'vitest'
import { ReasoningWatch } from './reasoning-watch.ts'

const tags = { open: '<think>', close: '</think>' }

function watchAll(pieces: readonly string[], startsInside = false): ReasoningWatch {
  const watch = new ReasoningWatch(tags, startsInside)
  for (const piece of pieces) watch.push(piece)
  return watch
}

describe('ReasoningWatch', () => {
  test.each([
    { name: 'tags that are tokens', pieces: ['<think>', 'a', 'b', '</think>', 'c'], tokens: 2, inside: false },
    { name: 'a block that goes on', pieces: ['<think>', 'a', 'b'], tokens: 2, inside: true },
    { name: 'white space before it', pieces: ['\n', ' ', '<think>', 'a'], tokens: 1, inside: true },
    { name: 'a tag in pieces', pieces: ['<th', 'ink', '>', 'a', '</', 'think', '>', 'b'], tokens: 3, inside: false },
    { name: 'text first', pieces: ['a', '<think>', 'b'], tokens: 0, inside: false },
    { name: 'text that only begins like a tag', pieces: ['<thin', ' ice', '<think>', 'a'], tokens: 0, inside: false },
    { name: 'halves of characters', pieces: ['<think>', '', '', 'ä'], tokens: 3, inside: true },
    { name: 'all in one piece', pieces: ['<think>a</think>b'], tokens: 0, inside: false },
  ])('ReasoningWatch counts the tokens between the tags: $name', ({ pieces, tokens, inside }) => {
    expect(watchAll(pieces)).toMatchObject({ tokens, inside })
  })

  test('a block that the prompt opened is inside from the start', () => {
    expect(watchAll([], true)).toMatchObject({ tokens: 0, inside: true })
    expect(watchAll(['a', 'b', '</think>', 'c'], true)).toMatchObject({ tokens: 2, inside: false })
  })

  test('a second block is text', () => {
    expect(watchAll(['<think>', 'a', '</think>', '<think>', 'b'])).toMatchObject({ tokens: 1, inside: false })
  })
})
