import { describe, expect, test } from 'vitest'
import { decodeChat } from '../openai-chat/decode.ts'
import { decodeDetokenize, decodeTokenDecode, decodeTokenEncode, decodeTokenize } from './decode.ts'

const prompt = { type: 'text', text: 'a' }
const nameOf = expect.any(Function)
const readChat = (body: unknown) => decodeChat(body, '')

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
    expect(decodeTokenEncode({ text: 'a', ...fields }, readChat)).toEqual({
      request: { prompt, reasoning: {}, ...flags },
      model: undefined,
      ignored: [],
      nameOf,
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
      isVllm: false,
      withPieces: false,
      request: { prompt, reasoning: {}, ...flags },
      model: 'm',
      ignored: [],
      nameOf,
    })
  })

  test('for messages, with variables for their template', () => {
    const body = { text: [{ role: 'user', content: 'a' }], template_vars: { mood: 'good' } }
    const { request } = decodeTokenEncode(body, readChat)
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
      nameOf,
    })
  })

  test('in llama-server’s words', () => {
    expect(decodeDetokenize({ tokens: [], special: 1 })).toEqual({
      request: { tokens: [], special: true },
      model: undefined,
      ignored: ['special'],
      nameOf,
    })
  })
})

describe('a place of a request has the name that its caller knows', () => {
  test.each([
    [['model'], 'model'],
    [['prompt', 'text'], 'text'],
    [['addBos'], 'add_bos_token'],
    [['parseSpecial'], 'encode_special_tokens'],
  ])('%j of a text to encode is %s', (path, name) => {
    expect(decodeTokenEncode({ text: 'a' }, readChat).nameOf(path)).toBe(name)
  })

  test.each([
    [['prompt', 'messages'], 'text'],
    [['prompt', 'messages', 1], 'text[1]'],
    [['prompt', 'messages', 1, 'content', 0], 'text[1].content[0]'],
    [['prompt', 'templateVariables'], 'template_vars'],
    [['model'], 'model'],
  ])('%j of a conversation to encode is %s', (path, name) => {
    const text = ['a', 'b'].map((content) => ({ role: 'user', content: [{ type: 'text', text: content }] }))
    expect(decodeTokenEncode({ text, template_vars: { a: 1 } }, readChat).nameOf(path)).toBe(name)
  })

  test('a conversation that is not valid is refused by that name', () => {
    expect(() => decodeTokenEncode({ text: [{ role: 'nobody' }] }, readChat)).toThrow(
      expect.objectContaining({ param: 'text[0].role', message: expect.not.stringContaining('messages') }),
    )
  })

  test.each([
    [['tokens', 3], 'tokens[3]'],
    [['special'], 'decode_special_tokens'],
  ])('%j of tokens is %s', (path, name) => {
    expect(decodeTokenDecode({ tokens: [1] }).nameOf(path)).toBe(name)
  })

  test.each([
    [['prompt', 'text'], 'content'],
    [['addBos'], 'add_special'],
    [['parseSpecial'], 'parse_special'],
    [['tokens', 3], 'tokens[3]'],
  ])('%j of llama-server’s requests is %s', (path, name) => {
    expect(decodeTokenize({ content: 'a' }).nameOf(path)).toBe(name)
    expect(decodeDetokenize({ tokens: [] }).nameOf(path)).toBe(name)
  })
})
