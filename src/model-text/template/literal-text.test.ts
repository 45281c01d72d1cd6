import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { asForeign } from '../../jinja/values/foreign-text.ts'
import { lastMessageStart, splitPrompt } from './literal-text.ts'

const special = ['<|im_start|>', '<|im_end|>', '<s>', '<s>x', '>y<']

/** A prompt of the template's own texts, and of the caller's, in angle quotes. */
const traced = (text: string) => text.replace(/«([^»]*)»/g, (_, given: string) => asForeign(given))

describe('splitPrompt', () => {
  test.each([
    { name: 'no special token', prompt: 'a«hello»', segments: ['a', 'hello'], literal: [] },
    {
      name: "the template's own",
      prompt: '<s><|im_start|>«hello»<|im_end|>',
      segments: ['<s><|im_start|>hello<|im_end|>'],
      literal: [],
    },
    { name: "a caller's", prompt: '<s>«a<|im_end|>b»<|im_end|>', segments: ['<s>a', '<|im_end|>', 'b<|im_end|>'], literal: [1] },
    { name: 'begun by the caller', prompt: '«<|im_»end|>', segments: ['<|im_end|>'], literal: [0] },
    { name: 'ended by the caller', prompt: '<s><|im_«end|>»', segments: ['<s>', '<|im_end|>'], literal: [1] },
    { name: 'with a letter of the caller', prompt: '<|im«_»end|>', segments: ['<|im_end|>'], literal: [0] },
    { name: 'of two texts of the caller', prompt: '«<|im_»«end|>»', segments: ['<|im_end|>'], literal: [0] },
    { name: "the template's own, which the caller lengthens", prompt: '<s>«x»', segments: ['<s>', 'x'], literal: [1] },
    { name: "the template's own, which overlaps one of the caller's", prompt: '<s>«y<»', segments: ['<s>', 'y<'], literal: [1] },
  ])('$name', ({ prompt, segments, literal }) => {
    const split = splitPrompt(traced(prompt), special)
    expect(split.map(({ text }) => text).join('')).toBe(segments.join(''))
    expect(split.flatMap(({ text, literal: isLiteral }) => (isLiteral ? [text] : []))).toEqual(
      literal.map((index) => segments[index]),
    )
  })

  test('all text is kept, and no special token outside of literal segments has a character of the caller', () => {
    const word = fc.constantFrom(...special, 'a', '<', '|', 's>', 'im_end|>', '<|im_', 'x', 'y<', '\n', '🐼')
    const part = fc.record({ word, foreign: fc.boolean() })
    fc.assert(
      fc.property(fc.array(part, { maxLength: 14 }), (parts) => {
        const prompt = parts.map((each) => (each.foreign ? asForeign(each.word) : each.word)).join('')
        const split = splitPrompt(prompt, special)
        expect(split.map(({ text }) => text).join('')).toBe(parts.map((each) => each.word).join(''))
        let at = 0
        for (const { text, literal } of split) {
          const origin = prompt.slice(at, at + text.length)
          at += text.length
          if (literal) continue
          for (const token of special) {
            for (let from = text.indexOf(token); from !== -1; from = text.indexOf(token, from + 1)) {
              const inside = special.some((own) => origin.includes(own) && overlaps(origin, own, [from, from + token.length]))
              expect(origin.slice(from, from + token.length) === token || inside).toBe(true)
            }
          }
        }
      }),
    )
  })
})

/** Whether a token of the template alone covers a part of this range: it cannot be taken apart. */
function overlaps(origin: string, own: string, [from, to]: readonly [number, number]): boolean {
  for (let at = origin.indexOf(own); at !== -1; at = origin.indexOf(own, at + 1)) {
    if (at < to && at + own.length > from) return true
  }
  return false
}

describe('the last message begins', () => {
  test.each<[string, string, string | undefined]>([
    [
      'behind the special token in front of it',
      '<s>sys«A»<|im_end|><|im_start|>user:«Ü b»<|im_end|><|im_start|>bot',
      '<s>sysA<|im_end|><|im_start|>user:',
    ],
    ['with the first of its texts', '<|im_start|>user:«a» and «b»<|im_end|>', '<|im_start|>user:'],
    ['behind a token that only looks like one', '<|im_start|>user:«a<|im_end|>b»', '<|im_start|>user:'],
    ['nowhere, in a prompt without texts of the caller', '<s>a', undefined],
    ['nowhere, where the template writes no special tokens', 'user:«a» bot:', undefined],
  ])('%s', (_, prompt, before) => {
    expect(lastMessageStart(traced(prompt), special)).toBe(before === undefined ? undefined : Buffer.byteLength(before))
  })
})
