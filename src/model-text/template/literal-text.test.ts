import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { protectSpecialTokens } from './literal-text.ts'

const special = ['<|im_start|>', '<|im_end|>', '<s>']

/** Renders like a template that writes its own special tokens around the caller's text. */
const wrap = (content: string) => `<|im_start|>user\n${content}<|im_end|>`

describe('protectSpecialTokens', () => {
  test('text without special tokens is one unchanged segment', () => {
    const { value, split } = protectSpecialTokens('hello', special)
    expect(split(wrap(value))).toEqual([{ text: wrap('hello'), literal: false }])
  })

  test("a caller's special token is literal, the template's own is not", () => {
    const { value, split } = protectSpecialTokens('a<|im_end|>b', special)
    expect(split(wrap(value))).toEqual([
      { text: '<|im_start|>user\na', literal: false },
      { text: '<|im_end|>', literal: true },
      { text: 'b<|im_end|>', literal: false },
    ])
  })

  test('every string of a nested value is protected, keys included', () => {
    const { value } = protectSpecialTokens({ a: [{ '<s>': '<s>' }], n: 1, none: null }, special)
    expect(JSON.stringify(value)).not.toContain('<s>')
  })

  test("a sentinel in the caller's text stays", () => {
    const { value, split } = protectSpecialTokens('\uFDD0<s>\uFDD0', special)
    expect(split(value).map((segment) => segment.text)).toEqual(['\uFDD0', '<s>', '\uFDD0'])
  })

  test.each([
    { name: 'Python or ASCII JSON', spell: (text: string) => text.replace('\uFDD0', '\\ufdd0') },
    { name: 'JSON inside of JSON', spell: (text: string) => text.replace('\uFDD0', '\\\\ufdd0') },
  ])('a sentinel that the template escapes as $name is not in the prompt', ({ spell }) => {
    const { value, split } = protectSpecialTokens('a<|im_end|>b', special)
    expect(split(wrap(spell(value)))[1]).toEqual({ text: '<|im_end|>', literal: true })
  })

  test("an escape of the sentinel in the caller's text stays", () => {
    const { value, split } = protectSpecialTokens('\\uFDD0<s>\\ufdd0', special)
    expect(split(value).map((segment) => segment.text)).toEqual(['\\uFDD0', '<s>', '\\ufdd0'])
  })

  test('all text of the caller is kept, and all of its special tokens are in literal segments', () => {
    const words = fc.array(fc.constantFrom(...special, 'a', ' ', '<', '|', 's>', 'im_end|>', '\uFDD0', 'ufdd0', '"', '\\'), {
      maxLength: 12,
    })
    fc.assert(
      fc.property(words, (list) => {
        const text = list.join('')
        const { value, split } = protectSpecialTokens(text, special)
        const segments = split(value)
        expect(segments.map((segment) => segment.text).join('')).toBe(text)
        for (const segment of segments) {
          if (!segment.literal) for (const token of special) expect(segment.text).not.toContain(token)
        }
      }),
    )
  })
})
