import { describe, expect, test } from 'vitest'
import { incompleteReasons } from '../../../test/support/finish-reasons.ts'
import { call as callOf, reasoning, refusal, text } from '../../../test/support/parts.ts'
import { createWireCheck } from '../../../test/support/wire-schema.ts'
import type { FinishReason, GeneratedToken } from '../../contract/event.ts'
import type { TextPart } from '../../contract/request.ts'
import type { Choice, GenerationResult } from '../../contract/result.ts'
import { encodeTimings } from '../openai/times/encode-timings.ts'
import { encodeResult, type ReplyStyle } from './encode.ts'

const checkReply = createWireCheck('OpenAIChatCompletion')
const head = { id: 'chatcmpl-1', createdSeconds: 1_700_000_000, model: 'm', systemFingerprint: 'dragoman-1' }
const usage = { inputTokens: 7, cachedInputTokens: 3, outputTokens: 5, reasoningTokens: 2 }
const plain: Choice = { parts: [text('Hello')], tokens: [], finish: { reason: 'stop' } }
const call = callOf('call_1', 'f', '{"a":1}')
const thinking: Choice = { ...plain, parts: [reasoning('hm'), text('Hello')] }

const plainStyle: ReplyStyle = { reasoningFields: 'both', legacyCalls: false, logprobs: false }

const reply = (...choices: readonly Choice[]) => replyIn({}, ...choices)

/** Every reply of this file is checked against OpenAI's schema, strictly. */
function replyIn(style: Partial<ReplyStyle>, ...choices: readonly Choice[]): unknown {
  const start = { type: 'start', model: 'm', warnings: [] } as const
  const result: GenerationResult = { start, choices, usage, timings: {} }
  const encoded: unknown = JSON.parse(JSON.stringify(encodeResult(result, head, { ...plainStyle, ...style })))
  checkReply(encoded)
  return encoded
}

describe('encodeResult', () => {
  test('of a model that reasons, the fields of reasoning are there without any', () => {
    const start = { type: 'start', model: 'm', warnings: [], reasons: true } as const
    const encoded = JSON.parse(JSON.stringify(encodeResult({ start, choices: [plain], usage, timings: {} }, head, plainStyle)))
    checkReply(encoded)
    expect(encoded.choices[0].message).toMatchObject({ reasoning_content: null, reasoning: null })
  })

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
      timings: encodeTimings({ usage, timings: {} }),
    })
  })

  test.each<[string, Choice['parts'], object]>([
    ['no text at all', [], { content: '' }],
    ['texts around something else, which are one', [text('a'), reasoning('hm'), text('b')], { content: 'ab' }],
    [
      'thoughts around something else, which are one',
      [reasoning('x'), text('a'), reasoning('y')],
      { content: 'a', reasoning: 'xy' },
    ],
    ['reasoning under both names', thinking.parts, { content: 'Hello', reasoning_content: 'hm', reasoning: 'hm' }],
    [
      'calls only: null content',
      [call],
      { content: null, tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }] },
    ],
    [
      'text and calls',
      [text('Hello'), call],
      { content: 'Hello', tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }] },
    ],
    [
      'a custom call, with its text',
      [{ type: 'tool-call', id: 'call_1', name: 'f', kind: 'custom', input: 'a "b"' }],
      { content: null, tool_calls: [{ id: 'call_1', type: 'custom', custom: { name: 'f', input: 'a "b"' } }] },
    ],
    ['a refusal only: null content', [refusal('I cannot.')], { content: null, refusal: 'I cannot.' }],
    ['a refusal after a text', [text('Well.'), refusal('No.')], { content: 'Well.', refusal: 'No.' }],
  ])('a message with %s', (_, parts, message) => {
    expect(reply({ ...plain, parts })).toMatchObject({
      choices: [{ message: { role: 'assistant', refusal: null, ...message } }],
    })
  })

  test.each<[FinishReason, string]>([
    ['stop', 'stop'],
    ['length', 'length'],
    ['tool-calls', 'tool_calls'],
    ['content-filter', 'content_filter'],
    ['refusal', 'content_filter'],
    ['context-full', 'length'],
    ['cancelled', 'length'],
    ['paused', 'length'],
    ['end-of-message', 'stop'],
  ])('%s is told as %s', (reason, word) => {
    expect(reply({ ...plain, finish: { reason, stopSequence: 'x', rawReason: 'y' } })).toMatchObject({
      choices: [{ finish_reason: word }],
    })
  })

  test.each(incompleteReasons)('an answer that is not complete never reads as stop: %s', (reason) => {
    const [choice] = (reply({ ...plain, finish: { reason } }) as { choices: { finish_reason: string }[] }).choices
    expect(choice?.finish_reason).not.toBe('stop')
  })

  test('what its texts are based on is told with the message; citations of files have no place there', () => {
    const first: TextPart = {
      ...text('Rain'),
      annotations: [
        { type: 'url-citation', url: 'https://a.example', title: 'A', startIndex: 0, endIndex: 4 },
        { type: 'file-citation', fileId: 'file-1' },
      ],
    }
    const second: TextPart = { ...text(' today'), annotations: [{ type: 'url-citation', url: 'https://b.example' }] }
    expect(reply({ ...plain, parts: [first, call, second] })).toMatchObject({
      choices: [
        {
          message: {
            content: 'Rain today',
            annotations: [
              { type: 'url_citation', url_citation: { url: 'https://a.example', title: 'A', start_index: 0, end_index: 4 } },
              { type: 'url_citation', url_citation: { url: 'https://b.example', title: '', start_index: 0, end_index: 0 } },
            ],
          },
        },
      ],
    })
    const filed: TextPart = { ...text('Rain'), annotations: [{ type: 'file-citation', fileId: 'file-1' }] }
    expect(reply({ ...plain, parts: [filed] })).toEqual(reply({ ...plain, parts: [text('Rain')] }))
  })

  test('choices are numbered in order', () => {
    expect(reply(plain, { ...plain, parts: [text('Hi')] })).toMatchObject({
      choices: [
        { index: 0, message: { content: 'Hello' } },
        { index: 1, message: { content: 'Hi' } },
      ],
    })
  })

  test.each([
    ['both', { reasoning_content: 'hm', reasoning: 'hm' }],
    ['reasoning_content', { reasoning_content: 'hm' }],
    ['reasoning', { reasoning: 'hm' }],
    ['none', {}],
  ] as const)('reasoning under the names of %s', (reasoningFields, fields) => {
    const message = { role: 'assistant', content: 'Hello', refusal: null, ...fields }
    expect(replyIn({ reasoningFields }, thinking)).toMatchObject({ choices: [{ message }] })
    const [choice] = (replyIn({ reasoningFields }, thinking) as { choices: { message: object }[] }).choices
    expect(choice?.message).toEqual(message)
  })

  test('a call of a deprecated function is told as one, with its own finish reason', () => {
    const finish = { reason: 'tool-calls' as const }
    expect(replyIn({ legacyCalls: true }, { ...plain, parts: [call], finish })).toMatchObject({
      choices: [
        { message: { content: null, function_call: { name: 'f', arguments: '{"a":1}' } }, finish_reason: 'function_call' },
      ],
    })
  })

  test('log-probabilities have their bytes, the id where it is known, and a number for what is impossible', () => {
    const token = (text: string, logprob: number) => ({ id: 1, text, bytes: [...Buffer.from(text)], logprob })
    const tokens: GeneratedToken[] = [
      { ...token('Hé', -0.5), top: [token('Hé', -0.5), { ...token('x', Number.NEGATIVE_INFINITY), id: -1 }] },
      { ...token('', -1), bytes: [0xf0, 0x9f], top: [] },
    ]
    expect(replyIn({ logprobs: true }, { ...plain, tokens })).toMatchObject({
      choices: [
        {
          logprobs: {
            content: [
              {
                token: 'Hé',
                token_id: 1,
                logprob: -0.5,
                bytes: [72, 195, 169],
                top_logprobs: [
                  { token: 'Hé', token_id: 1, logprob: -0.5, bytes: [72, 195, 169] },
                  { token: 'x', logprob: -9999, bytes: [120] },
                ],
              },
              { token: '', logprob: -1, bytes: [0xf0, 0x9f], top_logprobs: [] },
            ],
            refusal: null,
          },
        },
      ],
    })
    expect(JSON.stringify(replyIn({ logprobs: true }, { ...plain, tokens }))).not.toContain('"token_id":-1')
    expect(replyIn({}, { ...plain, tokens })).toMatchObject({ choices: [{ logprobs: null }] })
  })
})
