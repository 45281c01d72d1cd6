import { describe, expect, test } from 'vitest'
import { createWireCheck } from '../../../test/support/wire-schema.ts'
import type { FinishReason } from '../../core/event.ts'
import type { Choice, GenerationResult } from '../../core/result.ts'
import { encodeResult } from './encode.ts'

const checkReply = createWireCheck('OpenAIChatCompletion')
const head = { id: 'chatcmpl-1', createdSeconds: 1_700_000_000, model: 'm', systemFingerprint: 'dragoman-1' }
const usage = { inputTokens: 7, cachedInputTokens: 3, outputTokens: 5, reasoningTokens: 2 }
const plain: Choice = { text: 'Hello', reasoning: '', toolCalls: [], tokens: [], finish: { reason: 'stop' } }
const call = { id: 'call_1', name: 'f', arguments: '{"a":1}' }

/** Every reply of this file is checked against OpenAI's schema, strictly. */
function reply(...choices: readonly Choice[]): unknown {
  const result: GenerationResult = { choices, usage, timings: {} }
  const encoded: unknown = JSON.parse(JSON.stringify(encodeResult(result, head)))
  checkReply(encoded)
  return encoded
}

describe('encodeResult', () => {
  test('a plain answer has every key, the empty ones as null', () => {
    expect(reply(plain)).toEqual({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'm',
      system_fingerprint: 'dragoman-1',
      choices: [
        { index: 0, message: { role: 'assistant', content: 'Hello', refusal: null }, logprobs: null, finish_reason: 'stop' },
      ],
      usage: {
        prompt_tokens: 7,
        completion_tokens: 5,
        total_tokens: 12,
        prompt_tokens_details: { cached_tokens: 3 },
        completion_tokens_details: { reasoning_tokens: 2 },
      },
    })
  })

  test.each<[string, Partial<Choice>, object]>([
    ['no text at all', { text: '' }, { content: '' }],
    ['reasoning under both names', { reasoning: 'hm' }, { content: 'Hello', reasoning_content: 'hm', reasoning: 'hm' }],
    [
      'calls only: null content',
      { text: '', toolCalls: [call] },
      { content: null, tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }] },
    ],
    [
      'text and calls',
      { toolCalls: [call] },
      { content: 'Hello', tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }] },
    ],
  ])('a message with %s', (_, fields, message) => {
    expect(reply({ ...plain, ...fields })).toMatchObject({
      choices: [{ message: { role: 'assistant', refusal: null, ...message } }],
    })
  })

  test.each<[FinishReason, string]>([
    ['stop', 'stop'],
    ['length', 'length'],
    ['tool-calls', 'tool_calls'],
    ['content-filter', 'content_filter'],
  ])('%s is told as %s', (reason, word) => {
    expect(reply({ ...plain, finish: { reason, stopSequence: 'x', rawReason: 'y' } })).toMatchObject({
      choices: [{ finish_reason: word }],
    })
  })

  test('choices are numbered in order', () => {
    expect(reply(plain, { ...plain, text: 'Hi' })).toMatchObject({
      choices: [
        { index: 0, message: { content: 'Hello' } },
        { index: 1, message: { content: 'Hi' } },
      ],
    })
  })
})
