import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { roundsOf } from '../../../test/support/process/soak-length.ts'
import { AppError } from '../../contract/errors.ts'
import type { CanonicalPath } from '../../contract/field.ts'
import { plainRequest } from '../../contract/request.ts'
import { type DecodedCompletion, decodeCompletion } from './decode.ts'

function decode(fields: object): DecodedCompletion {
  return decodeCompletion({ model: 'm', prompt: 'Once', ...fields }, 'cmpl-1')
}

describe('decodeCompletion', () => {
  test('a small request decodes to its canonical form, with the protocol’s own limit', () => {
    const prompt = { type: 'text', text: 'Once', readsControlTokens: true }
    expect(decode({})).toEqual({
      requests: [{ ...plainRequest, id: 'cmpl-1', model: 'm', prompt, maxOutputTokens: 16, isMaxOutputAssumed: true }],
      echoes: [''],
      stream: false,
      includeUsage: false,
      timingsPerToken: false,
      ignored: [],
      nameOf: expect.any(Function),
    })
  })

  test.each<[unknown, readonly object[]]>([
    ['', [{ type: 'text', text: '', readsControlTokens: true }]],
    [['a'], [{ type: 'text', text: 'a', readsControlTokens: true }]],
    [
      ['a', 'b'],
      [
        { type: 'text', text: 'a', readsControlTokens: true },
        { type: 'text', text: 'b', readsControlTokens: true },
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

  test('a minimum of tokens is passed on; 0 is none', () => {
    expect(decode({ min_tokens: 3 }).requests[0].minOutputTokens).toBe(3)
    expect(decode({ min_length: 20, max_tokens: 20 }).requests[0].minOutputTokens).toBe(20)
    expect(decode({ min_tokens: 0 }).requests).toEqual(decode({}).requests)
  })

  test('a constraint is decoded as in chats', () => {
    expect(decode({ regex: '[ab]' }).requests[0].output).toEqual({ type: 'regex', pattern: '[ab]' })
  })

  test('a suffix makes each prompt a gap to fill; an empty one is none', () => {
    expect(decode({ prompt: ['a', 'b'], suffix: 'z' }).requests.map(({ prompt }) => prompt)).toEqual([
      { type: 'infill', prefix: 'a', suffix: 'z' },
      { type: 'infill', prefix: 'b', suffix: 'z' },
    ])
    expect(decode({ suffix: 'z', echo: true }).echoes).toEqual(['Once'])
    expect(decode({ suffix: '' }).requests).toEqual(decode({}).requests)
  })

  test.each<[object, object | undefined]>([
    [{ logprobs: 2 }, { logprobs: { top: 2 } }],
    [{ logprobs: true }, { logprobs: { top: 1 } }],
    [{ n_probs: 10 }, { logprobs: { top: 10 } }],
    [{ logprobs: 10, n_probs: 10 }, { logprobs: { top: 10 } }],
    [{ prompt: [1, 2] }, {}],
    [{ prompt: [1, 2], logprobs: 0 }, { logprobs: { top: 0 } }],
    [{ max_tokens: 0 }, {}],
    [{ prompt: ['a', 'b'], max_length: 0, logprobs: 1 }, { logprobs: { top: 1 } }],
    [{}, undefined],
  ])('an echo of %j asks for the tokens %j, and then has no text of its own', (fields, promptTokens) => {
    const { requests, echoes } = decode({ ...fields, echo: true })
    for (const request of requests) expect(request.promptTokens).toEqual(promptTokens)
    expect(echoes).toEqual(requests.map(() => (promptTokens === undefined ? 'Once' : '')))
    for (const request of decode(Object.hasOwn(fields, 'max_tokens') ? {} : { ...fields, max_length: 1 }).requests) {
      expect(request.promptTokens).toBeUndefined()
    }
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
    [{ logprobs: 21 }, 'logprobs'],
    [{ logprobs: 2, n_probs: 3 }, 'n_probs'],
    [{ max_tokens: -3, echo: true }, 'max_tokens'],
    [{ max_tokens: 0 }, 'max_tokens'],
    [{ max_completion_tokens: 0, echo: false }, 'max_completion_tokens'],
    [{ suffix: 5 }, 'suffix'],
    [{ min_tokens: -1 }, 'min_tokens'],
    [{ min_tokens: 17 }, 'min_tokens'],
    [{ min_length: 5, max_tokens: 4 }, 'min_length'],
    [{ n: 0 }, 'n'],
  ])('%j is refused with its param', (fields, param) => {
    expect(() => decode(fields)).toThrow(expect.objectContaining({ code: 'invalid-request', param }))
  })

  test.each<[object, string]>([
    [{ suffix: 'end', prompt: [1, 2] }, 'suffix'],
    [{ suffix: 'end', echo: true, logprobs: 0 }, 'echo'],
    [{ suffix: 'end', echo: true, max_tokens: 0 }, 'echo'],
    [{ best_of: 2 }, 'best_of'],
  ])('%j is not supported, and says so', (fields, param) => {
    expect(() => decode(fields)).toThrow(expect.objectContaining({ code: 'unsupported-field', param }))
  })

  test('special tokens are shown on request', () => {
    expect(decode({ skip_special_tokens: false }).requests[0].showsSpecialTokens).toBe(true)
    expect(decode({ skip_special_tokens: true }).requests[0].showsSpecialTokens).toBeUndefined()
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
      { numRuns: roundsOf(50, 200) },
    )
  })
})

describe('a place of the first request has the name that its caller knows', () => {
  test.each<[object, CanonicalPath, string]>([
    [{}, ['model'], 'model'],
    [{}, ['prompt'], 'prompt'],
    [{}, ['prompt', 'text'], 'prompt'],
    [{ prompt: [[1, 2], [3]] }, ['prompt', 'tokens', 1], 'prompt'],
    [{ suffix: 'z' }, ['prompt', 'prefix'], 'prompt'],
    [{ suffix: 'z' }, ['prompt', 'suffix'], 'suffix'],
    [{ echo: true, logprobs: 1 }, ['promptTokens'], 'echo'],
    [{ logprobs: 1 }, ['logprobs'], 'logprobs'],
    [{ logprobs: 5 }, ['logprobs', 'top'], 'logprobs'],
    [{ max_length: 5 }, ['maxOutputTokens'], 'max_length'],
    [{ min_length: 5 }, ['minOutputTokens'], 'min_length'],
    [{ min_tokens: 5 }, ['minOutputTokens'], 'min_tokens'],
    [{}, ['sampling', 'topP'], 'top_p'],
    [{ regex_pattern: 'a' }, ['output', 'pattern'], 'regex_pattern'],
  ])('in %j, %j is %s', (fields, path, name) => {
    expect(decode(fields).nameOf(path)).toBe(name)
  })
})

test('the tokens of a prompt are repeated for at most four choices', () => {
  const body = { model: 'm', prompt: 'a', echo: true, logprobs: 1 }
  expect(decodeCompletion({ ...body, n: 4 }, 'id').requests[0].choices).toBe(4)
  expect(() => decodeCompletion({ ...body, n: 5 }, 'id')).toThrow(
    expect.objectContaining({ code: 'invalid-request', param: 'n' }),
  )
  expect(decodeCompletion({ ...body, logprobs: null, n: 5 }, 'id').requests[0].choices).toBe(5)
})
