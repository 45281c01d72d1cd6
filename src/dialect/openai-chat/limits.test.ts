import { describe, expect, test } from 'vitest'
import { decodeChat } from './decode.ts'

const hello = [{ role: 'user', content: 'hi' }]
const numbered = (count: number, value: unknown = 1) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [String(index), value]))
const call = (args: unknown) => [{ role: 'assistant', tool_calls: [{ id: 'c', function: { name: 'f', arguments: args } }] }]

describe('a field that would take long is refused by name', () => {
  test.each<[string, object, string, string]>([
    ['an unknown field', numbered(300), '', 'the request body: expected an object of at most 256 fields'],
    ['unknown fields of a message', { messages: [{ ...hello[0], ...numbered(300) }] }, 'messages[0]', 'at most 256 fields'],
    ['logit_bias', { logit_bias: numbered(40_001) }, 'logit_bias', 'at most 40000 token ids'],
    ['banned tokens', { banned_tokens: Array(40_001).fill(1) }, 'banned_tokens', 'at most 40000 token ids'],
    ['banned tokens as text', { banned_tokens: '1,'.repeat(2_000_000) }, 'banned_tokens', 'at most 40000 token ids'],
    ['banned tokens that are blanks', { banned_tokens: `${' '.repeat(400_000)}x` }, 'banned_tokens', 'token ids with commas'],
    ['a grammar of empty lines', { grammar_string: '\n'.repeat(1_000_000) }, 'grammar_string', 'has no rule'],
    ['template variables', { template_vars: { a: Array(50_001).fill(1) } }, 'template_vars', 'more than 50000 values'],
    ['a schema', { json_schema: { enum: Array(50_001).fill(1) } }, 'json_schema', 'more than 50000 values'],
    ['a schema as text', { json_schema: `[${'1,'.repeat(600_000)}1]` }, 'json_schema', 'at most 1048576 characters'],
    ['a regex', { regex_pattern: 'a'.repeat(1_100_000) }, 'regex_pattern', 'at most 1048576 characters'],
    ['choices', { guided_choice: Array(10_001).fill('a') }, 'guided_choice', 'at most 10000 strings'],
    ['long choices', { guided_choice: Array(20).fill('a'.repeat(60_000)) }, 'guided_choice', '1048576 characters together'],
    ['sequence breakers', { dry_sequence_breakers: Array(10_001).fill('a') }, 'dry_sequence_breakers', 'at most 10000 strings'],
    ['tools', { tools: Array(2049).fill({ function: { name: 'f' } }) }, 'tools', 'at most 2048 functions'],
    ['metadata', { metadata: numbered(300, 'x') }, 'metadata', 'at most 256 entries'],
    [
      'the arguments of a call',
      { messages: call(numbered(50_001)) },
      'messages[0].tool_calls[0].function.arguments',
      'more than 50000 values',
    ],
    [
      'the arguments of a call as text',
      { messages: call(`[${'1,'.repeat(1_000_001)}1]`) },
      'messages[0].tool_calls[0].function.arguments',
      'more than 1000000 values',
    ],
  ])('%s', (_, fields, param, message) => {
    expect(() => decodeChat({ model: 'm', messages: hello, ...fields }, 'id')).toThrow(
      expect.objectContaining({
        code: 'invalid-request',
        message: expect.stringContaining(message),
        param: param === '' ? undefined : param,
      }),
    )
  })
})

test('banned tokens are read from text, with any spaces', () => {
  const { request } = decodeChat({ model: 'm', messages: hello, banned_tokens: ' 1 ,2,,\n3, ' }, 'id')
  expect([...(request.sampling.logitBias?.keys() ?? [])]).toEqual([1, 2, 3])
  for (const text of ['a', '1.5', '1 2', '1234567890']) {
    expect(() => decodeChat({ model: 'm', messages: hello, banned_tokens: text }, 'id')).toThrow('token ids with commas')
  }
})

test('of many unknown fields, as many are reported as the header has room for', () => {
  const messages = Array.from({ length: 3000 }, (_, index) => ({ ...hello[0], [`field${index}`]: 1 }))
  expect(decodeChat({ model: 'm', messages }, 'id').ignored).toHaveLength(1000)
})
