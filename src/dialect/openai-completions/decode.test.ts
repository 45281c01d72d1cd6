import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AppError } from '../../core/errors.ts'
import { plainRequest } from '../../core/request.ts'
import { type DecodedCompletion, decodeCompletion } from './decode.ts'

function decode(fields: object): DecodedCompletion {
  return decodeCompletion({ model: 'm', prompt: 'Once', ...fields }, 'cmpl-1')
}

describe('decodeCompletion', () => {
  test('a small request decodes to its canonical form, with the protocol’s own limit', () => {
    const prompt = { type: 'text', text: 'Once' }
    expect(decode({})).toEqual({
      requests: [{ ...plainRequest, id: 'cmpl-1', model: 'm', prompt, maxOutputTokens: 16 }],
      echoes: [''],
      stream: false,
      includeUsage: false,
      ignored: [],
    })
  })

  test.each<[unknown, readonly object[]]>([
    ['', [{ type: 'text', text: '' }]],
    [['a'], [{ type: 'text', text: 'a' }]],
    [
      ['a', 'b'],
      [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    ],
    [[1, 2], [{ type: 'tokens', tokens: [1, 2] }]],
    [
      [[1, 2], [3]],
      [
        { type: 'tokens', tokens: [1, 2] },
        { type: 'tokens', tokens: [3] },
      ],
    ],
  ])('the prompt %j gives %j', (prompt, prompts) => {
    expect(decode({ prompt }).requests.map((request) => request.prompt)).toEqual(prompts)
  })

  test('every prompt has an id of its own, and all else in common', () => {
    const [first, second] = decode({ prompt: ['a', 'b'], n: 2, temperature: 0, max_tokens: 5, stop: 'x', logprobs: 3 }).requests
    expect([first.id, second?.id]).toEqual(['cmpl-1', 'cmpl-1-1'])
    const common = { choices: 2, sampling: { temperature: 0 }, maxOutputTokens: 5, stop: ['x'], logprobs: { top: 3 } }
    for (const request of [first, second]) expect(request).toMatchObject(common)
  })

  test('a constraint is decoded as in chats', () => {
    expect(decode({ regex: '[ab]' }).requests[0].output).toEqual({ type: 'regex', pattern: '[ab]' })
  })

  test('an echo is the text of each prompt', () => {
    expect(decode({ prompt: ['a', 'b'], echo: true }).echoes).toEqual(['a', 'b'])
    expect(decode({ prompt: ['a', 'b'], echo: false }).echoes).toEqual(['', ''])
  })

  test.each<[object, string]>([
    [{ prompt: undefined }, 'prompt'],
    [{ prompt: null }, 'prompt'],
    [{ prompt: 5 }, 'prompt'],
    [{ prompt: [] }, 'prompt'],
    [{ prompt: [[]] }, 'prompt[0]'],
    [{ prompt: ['a', 1] }, 'prompt[1]'],
    [{ prompt: [1, -1] }, 'prompt[1]'],
    [{ prompt: [[1], [1.5]] }, 'prompt[1][0]'],
    [{ logprobs: 6 }, 'logprobs'],
    [{ logprobs: true }, 'logprobs'],
    [{ max_tokens: 0 }, 'max_tokens'],
    [{ n: 0 }, 'n'],
    [{ stream_options: { include_usage: true } }, 'stream_options'],
  ])('%j is refused with its param', (fields, param) => {
    expect(() => decode(fields)).toThrow(expect.objectContaining({ code: 'invalid-request', param }))
  })

  test.each<[object, string]>([
    [{ suffix: 'end' }, 'suffix'],
    [{ best_of: 2 }, 'best_of'],
    [{ echo: true, logprobs: 0 }, 'echo'],
    [{ echo: true, prompt: [1, 2] }, 'echo'],
    [{ structured_outputs: { structural_tag: '' } }, 'structured_outputs.structural_tag'],
  ])('%j is not supported, and says so', (fields, param) => {
    expect(() => decode(fields)).toThrow(expect.objectContaining({ code: 'unsupported-field', param }))
  })

  test('unknown keys are accepted and listed', () => {
    expect(decode({ messages: [], stream: true, stream_options: { x: 1 } }).ignored).toEqual(['messages', 'stream_options.x'])
  })

  test('any prompt is decoded or refused with an AppError', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (prompt) => {
        try {
          decode({ prompt })
        } catch (error) {
          expect(error).toBeInstanceOf(AppError)
        }
      }),
      { numRuns: 200 },
    )
  })
})
