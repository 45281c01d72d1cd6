import { describe, expect, test } from 'vitest'
import type { Token } from '../../binding/tokenizer.ts'
import { NgramDrafter } from './ngram-drafter.ts'

describe('a draft by prompt lookup', () => {
  test.each<[string, number[], number, number[]]>([
    ['is what followed the newest tokens before', [1, 2, 3, 4, 5, 9, 1, 2, 3], 8, [4, 5, 9, 1, 2, 3]],
    ['has at most the length that there is room for', [1, 2, 3, 4, 5, 9, 1, 2, 3], 2, [4, 5]],
    ['is what followed last', [1, 2, 3, 4, 1, 2, 3, 5, 1, 2, 3], 1, [5]],
    ['follows a repetition', [7, 7, 7, 7], 4, [7]],
    ['is empty for a new text', [1, 2, 3, 4, 5, 6], 8, []],
    ['is empty for a repetition of two tokens', [1, 2, 3, 9, 2, 3], 8, []],
    ['is empty for a short text', [1, 2], 8, []],
    ['has at most its own limit', Array.from({ length: 20 }, (_, at) => 1 + (at % 10)), 8, [1, 2, 3, 4, 5, 6, 7]],
    ['is empty where there is no room', [1, 2, 3, 4, 1, 2, 3], 0, []],
  ])('a draft %s', (_, tokens, most, expected) => {
    expect(new NgramDrafter({ prompt: tokens, maxTokens: 7 }).draft({ room: most })).toEqual(expected)
  })

  test('a draft follows the output so far', () => {
    const drafter = new NgramDrafter({ prompt: [1, 2, 3], maxTokens: 8 })
    for (const token of [8, 4, 1, 2, 3]) drafter.push(token as Token)
    expect(drafter.draft({ room: 2 })).toEqual([8, 4])
  })
})
