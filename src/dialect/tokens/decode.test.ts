import { describe, expect, test } from 'vitest'
import { decodeDetokenize, decodeTokenDecode, decodeTokenEncode, decodeTokenize } from './decode.ts'

const prompt = { type: 'text', text: 'a' }

describe('tokens are asked for', () => {
  test.each<[object, object]>([
    [{}, { addBos: true, parseSpecial: true }],
    [{ add_bos_token: false }, { addBos: false, parseSpecial: true }],
    [{ encode_special_tokens: false }, { addBos: true, parseSpecial: false }],
    [
      { add_bos_token: null, decode_special_tokens: false },
      { addBos: true, parseSpecial: true },
    ],
  ])('in tabbyAPI’s words, with %j', (fields, flags) => {
    expect(decodeTokenEncode({ text: 'a', ...fields })).toEqual({
      request: { prompt, reasoning: {}, ...flags },
      model: undefined,
      ignored: [],
    })
  })

  test.each<[object, object]>([
    [{}, { addBos: false, parseSpecial: true }],
    [{ add_special: true }, { addBos: true, parseSpecial: true }],
    [
      { parse_special: false, with_pieces: false },
      { addBos: false, parseSpecial: false },
    ],
  ])('in llama-server’s words, with %j', (fields, flags) => {
    expect(decodeTokenize({ content: 'a', model: 'm', ...fields })).toEqual({
      request: { prompt, reasoning: {}, ...flags },
      model: 'm',
      ignored: [],
    })
  })

  test('for messages, with variables for their template', () => {
    const { request } = decodeTokenEncode({ text: [{ role: 'user', content: 'a' }], template_vars: { mood: 'good' } })
    expect(request.prompt).toMatchObject({ type: 'chat', start: 'bare', templateVariables: { mood: 'good' } })
  })
})

describe('a text is asked for', () => {
  test.each<[object, boolean]>([
    [{}, true],
    [{ decode_special_tokens: false }, false],
    [{ decode_special_tokens: null, add_bos_token: false, encode_special_tokens: false }, true],
  ])('in tabbyAPI’s words, with %j', (fields, special) => {
    expect(decodeTokenDecode({ tokens: [1], ...fields })).toEqual({
      request: { tokens: [1], special },
      model: undefined,
      ignored: [],
    })
  })

  test('in llama-server’s words', () => {
    expect(decodeDetokenize({ tokens: [], special: 1 })).toEqual({
      request: { tokens: [], special: true },
      model: undefined,
      ignored: ['special'],
    })
  })
})
