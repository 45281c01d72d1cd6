import { describe, expect, test } from 'vitest'
import { finishReasons, incompleteReasons } from '../../../test/support/finish-reasons.ts'
import { call, reasoning, refusal, text } from '../../../test/support/parts.ts'
import { AppError, type ErrorCode } from '../../contract/errors.ts'
import type { FinishReason, GeneratedToken, StartEvent } from '../../contract/event.ts'
import type { OutputPart } from '../../contract/request.ts'
import type { Choice, GenerationResult } from '../../contract/result.ts'
import { encodeBatchChat, encodeBatchCompletion, encodeChat, encodeCompletion, encodeStopReason } from './encode.ts'
import { encodeStackError, encodeStreamError } from './errors.ts'

const start: StartEvent = { type: 'start', model: 'm', warnings: [] }
const usage = { inputTokens: 7, cachedInputTokens: 3, outputTokens: 5, reasoningTokens: 2 }
const metrics = [
  { metric: 'prompt_tokens', value: 7, unit: 'tokens' },
  { metric: 'completion_tokens', value: 5, unit: 'tokens' },
  { metric: 'total_tokens', value: 12, unit: 'tokens' },
  { metric: 'cached_prompt_tokens', value: 3, unit: 'tokens' },
]

function choice(parts: readonly OutputPart[], reason: FinishReason = 'stop', tokens: readonly GeneratedToken[] = []): Choice {
  return { parts, tokens, finish: { reason } }
}

function result(...choices: readonly Choice[]): GenerationResult {
  return { start, choices, usage, timings: {} }
}

function token(word: string, logprob: number, top: readonly (readonly [string, number])[] = []): GeneratedToken {
  const one = (other: string, value: number) => ({ id: 1, text: other, bytes: [], logprob: value })
  return { ...one(word, logprob), top: top.map(([other, value]) => one(other, value)) }
}

describe('a chat reply', () => {
  test('has text, all calls and counts; reasoning has no place', () => {
    const parts = [reasoning('Hm.'), text('I look.'), call('c1', 'f', '{"a":{"b":{"c":1}}}'), call('c2', 'g', '')]
    expect(encodeChat(result(choice(parts, 'tool-calls')))).toEqual({
      completion_message: {
        role: 'assistant',
        content: 'I look.',
        stop_reason: 'end_of_message',
        tool_calls: [
          { call_id: 'c1', tool_name: 'f', arguments: { a: { b: { c: 1 } } }, arguments_json: '{"a":{"b":{"c":1}}}' },
          { call_id: 'c2', tool_name: 'g', arguments: {}, arguments_json: '{}' },
        ],
      },
      metrics,
    })
  })

  test.each(['{"a":', '[1]', 'x'])(
    'arguments that are not an object in JSON stay the text %s, beside calls that are',
    (input) => {
      const { completion_message: message } = encodeChat(result(choice([call('c1', 'f', input), call('c2', 'f', '{"a":1}')])))
      expect(message.tool_calls.map((made) => made.arguments)).toEqual([input, { a: 1 }])
    },
  )

  test('a refusal is text', () => {
    expect(encodeChat(result(choice([refusal('No.')], 'refusal')))).toMatchObject({
      completion_message: { content: 'No.', stop_reason: 'end_of_turn', tool_calls: [] },
    })
  })

  test('log-probabilities have the sampled token, also where no other is reported', () => {
    const tokens = [token('a', -0.5, [['b', -1]]), token('a', -2), token('__proto__', 0)]
    expect(encodeChat(result(choice([text('aa')], 'stop', tokens)))).toMatchObject({
      logprobs: [
        { logprobs_by_token: { a: -0.5, b: -1 } },
        { logprobs_by_token: { a: -2 } },
        { logprobs_by_token: Object.fromEntries([['__proto__', 0]]) },
      ],
    })
  })
})

test('a completion has text and a stop reason', () => {
  expect(encodeCompletion(result(choice([text('a')], 'length', [token('a', -1)])))).toEqual({
    content: 'a',
    stop_reason: 'out_of_tokens',
    logprobs: [{ logprobs_by_token: { a: -1 } }],
    metrics,
  })
})

test('a batch has its answers in order', () => {
  const both = result(choice([text('a')]), choice([text('b')], 'length'))
  expect(encodeBatchCompletion(both)).toEqual({
    batch: [
      { content: 'a', stop_reason: 'end_of_turn' },
      { content: 'b', stop_reason: 'out_of_tokens' },
    ],
  })
  expect(encodeBatchChat(both)).toMatchObject({
    batch: [{ completion_message: { content: 'a' } }, { completion_message: { content: 'b' } }],
  })
})

describe('stop reasons', () => {
  test.each<[FinishReason, string]>([
    ['stop', 'end_of_turn'],
    ['refusal', 'end_of_turn'],
    ['tool-calls', 'end_of_message'],
    ['end-of-message', 'end_of_message'],
    ['paused', 'end_of_message'],
    ['length', 'out_of_tokens'],
    ['context-full', 'out_of_tokens'],
    ['content-filter', 'out_of_tokens'],
    ['cancelled', 'out_of_tokens'],
  ])('%s is %s', (reason, expected) => {
    expect(encodeStopReason(reason)).toBe(expected)
  })

  test('a truncated answer never reads as the end of a turn', () => {
    const truncated = incompleteReasons.filter((reason) => reason !== 'refusal')
    expect(truncated.map(encodeStopReason)).not.toContain('end_of_turn')
    expect(finishReasons).toHaveLength(9)
  })
})

describe('errors', () => {
  test.each<[ErrorCode, number]>([
    ['invalid-request', 400],
    ['unsupported-field', 400],
    ['context-length-exceeded', 400],
    ['unauthorized', 401],
    ['forbidden', 403],
    ['model-not-found', 404],
    ['request-conflict', 409],
    ['queue-full', 429],
    ['internal', 500],
    ['upstream-failed', 502],
    ['model-unavailable', 503],
  ])('%s has the status %d, and says why', (code, status) => {
    expect(encodeStackError(new AppError(code, 'This is why.'))).toEqual({ status, body: { error: { detail: 'This is why.' } } })
  })

  test('a fault of the body has its place', () => {
    const error = new AppError('invalid-request', 'It is wrong.', { param: 'messages[0].content[1].image.data' })
    const errors = [{ loc: ['messages', 0, 'content', 1, 'image', 'data'], msg: 'It is wrong.', type: 'invalid_request' }]
    expect(encodeStackError(error).body).toEqual({ error: { detail: { errors } } })
    expect(encodeStreamError(error)).toEqual({ error: { detail: { errors }, message: 'It is wrong.' } })
  })
})
