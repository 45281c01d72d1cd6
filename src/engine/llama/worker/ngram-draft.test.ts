import type { Token } from 'node-llama-cpp'
import { describe, expect, test } from 'vitest'
import { NgramDraft } from './ngram-draft.ts'

describe('a draft by prompt lookup', () => {
  test.each<[string, number[], number, number[]]>([
    ['is what followed the newest tokens before', [1, 2, 3, 4, 5, 9, 1, 2, 3], 8, [4, 5, 9, 1, 2, 3]],
    ['has at most the wanted length', [1, 2, 3, 4, 5, 9, 1, 2, 3], 2, [4, 5]],
    ['is what followed last', [1, 2, 3, 4, 1, 2, 3, 5, 1, 2, 3], 1, [5]],
    ['follows a repetition', [7, 7, 7, 7], 4, [7]],
    ['is empty for a new text', [1, 2, 3, 4, 5, 6], 8, []],
    ['is empty for a repetition of two tokens', [1, 2, 3, 9, 2, 3], 8, []],
    ['is empty for a short text', [1, 2], 8, []],
    ['is empty where none is wanted', [1, 2, 3, 4, 1, 2, 3], 0, []],
  ])('%s', (_, tokens, most, expected) => {
    expect(new NgramDraft(tokens).draft(most)).toEqual(expected)
  })

  test('follows what was generated since', () => {
    const draft = new NgramDraft([1, 2, 3])
    for (const token of [8, 4, 1, 2, 3]) draft.push(token as Token)
    expect(draft.draft(2)).toEqual([8, 4])
  })
})
