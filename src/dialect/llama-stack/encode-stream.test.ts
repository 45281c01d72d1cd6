import { describe, expect, test } from 'vitest'
import { finishReasons } from '../../../test/support/finish-reasons.ts'
import type { StreamEncoder } from '../../contract/dialect.ts'
import { AppError } from '../../contract/errors.ts'
import type { EventOf, GenerationEvent } from '../../contract/event.ts'
import { encodeStopReason } from './encode.ts'
import { createChatEncoder, createCompletionEncoder } from './encode-stream.ts'

const choice = 0
const start: GenerationEvent = { type: 'start', model: 'm', warnings: [] }
const usage: GenerationEvent = {
  type: 'usage',
  usage: { inputTokens: 7, cachedInputTokens: 3, outputTokens: 5, reasoningTokens: 2 },
  timings: {},
}
const finish = (reason: EventOf<'finish'>['reason']): GenerationEvent => ({
  type: 'finish',
  choice,
  reason,
})
const tokens = [{ id: 1, text: 'a', bytes: [97], logprob: -0.5, top: [{ id: 2, text: 'b', bytes: [98], logprob: -1 }] }]
const metrics = [
  { metric: 'prompt_tokens', value: 7, unit: 'tokens' },
  { metric: 'completion_tokens', value: 5, unit: 'tokens' },
  { metric: 'total_tokens', value: 12, unit: 'tokens' },
  { metric: 'cached_prompt_tokens', value: 3, unit: 'tokens' },
]

/** What the frames say: one line of JSON each. */
function framesOf(encoder: StreamEncoder, events: readonly GenerationEvent[]): unknown[] {
  const text = events.map((event) => encoder.encode(event)).join('')
  if (text === '') return []
  expect(text).toMatch(/^(data: \{.*\}\n\n)+$/)
  return text
    .split('\n\n')
    .slice(0, -1)
    .map((frame) => JSON.parse(frame.slice('data: '.length)))
}

const chat = (...events: readonly GenerationEvent[]) => framesOf(createChatEncoder(), [start, ...events])
const begins = { event: { event_type: 'start', delta: { type: 'text', text: '' } } }
const says = (text: string) => ({ event: { event_type: 'progress', delta: { type: 'text', text } } })
const calls = (tool_call: unknown, parse_status: string) => ({
  event: { event_type: 'progress', delta: { type: 'tool_call', tool_call, parse_status } },
})
const ends = (stop_reason: string) => ({
  event: { event_type: 'complete', delta: { type: 'text', text: '' }, stop_reason },
  metrics,
})

describe('the stream of a chat completion', () => {
  test('text, and two calls', () => {
    expect(
      chat(
        { type: 'prompt-read', inputTokens: 7, cachedInputTokens: 3 },
        { type: 'reasoning-start', choice },
        { type: 'reasoning-delta', choice, delta: 'Hm.' },
        { type: 'reasoning-end', choice },
        { type: 'text-start', choice },
        { type: 'text-delta', choice, delta: 'I ' },
        { type: 'text-delta', choice, delta: 'look.' },
        { type: 'text-end', choice },
        { type: 'tool-call-start', choice, id: 'c1', name: 'f' },
        { type: 'tool-call-delta', choice, id: 'c1', delta: '{"a":' },
        { type: 'tool-call-delta', choice, id: 'c1', delta: '{"b":1}}' },
        { type: 'tool-call-end', choice, id: 'c1' },
        { type: 'tool-call-start', choice, id: 'c2', name: 'g' },
        { type: 'tool-call-end', choice, id: 'c2', state: 'repaired' },
        finish('tool-calls'),
        usage,
      ),
    ).toEqual([
      begins,
      says('I '),
      says('look.'),
      calls('', 'started'),
      calls('{"a":', 'in_progress'),
      calls('{"b":1}}', 'in_progress'),
      calls({ call_id: 'c1', tool_name: 'f', arguments: { a: { b: 1 } }, arguments_json: '{"a":{"b":1}}' }, 'succeeded'),
      calls('', 'started'),
      calls({ call_id: 'c2', tool_name: 'g', arguments: {}, arguments_json: '{}' }, 'succeeded'),
      ends('end_of_message'),
    ])
  })

  test('a call that cannot be parsed fails with its text, and the next one succeeds', () => {
    expect(
      chat(
        { type: 'tool-call-start', choice, id: 'c1', name: 'f' },
        { type: 'tool-call-delta', choice, id: 'c1', delta: '{oops' },
        { type: 'tool-call-end', choice, id: 'c1', state: 'unparseable', raw: '{oops' },
        { type: 'tool-call-start', choice, id: 'c2', name: 'g' },
        { type: 'tool-call-end', choice, id: 'c2' },
      ).slice(3),
    ).toMatchObject([
      calls('f({oops)', 'failed'),
      calls('', 'started'),
      { event: { delta: { tool_call: { tool_name: 'g' }, parse_status: 'succeeded' } } },
    ])
  })

  test('a call that a limit truncates fails', () => {
    expect(
      chat(
        { type: 'tool-call-start', choice, id: 'c1', name: 'f' },
        { type: 'tool-call-delta', choice, id: 'c1', delta: '{"a": "lon' },
        finish('length'),
        usage,
      ).slice(2),
    ).toEqual([calls('{"a": "lon', 'in_progress'), calls('f({"a": "lon)', 'failed'), ends('out_of_tokens')])
  })

  test('a call ends where text begins, before a server says so', () => {
    expect(
      chat(
        { type: 'tool-call-start', choice, id: 'c1', name: 'f' },
        { type: 'text-delta', choice, delta: 'Wait.' },
        { type: 'tool-call-end', choice, id: 'c1' },
      ).slice(2),
    ).toMatchObject([{ event: { delta: { parse_status: 'succeeded' } } }, says('Wait.')])
  })

  test('a truncated call that was ended fails too', () => {
    expect(
      chat(
        { type: 'tool-call-start', choice, id: 'c1', name: 'f' },
        { type: 'tool-call-delta', choice, id: 'c1', delta: '{"a' },
        { type: 'tool-call-end', choice, id: 'c1' },
        finish('length'),
      ).slice(3),
    ).toEqual([calls('f({"a)', 'failed')])
  })

  test.each(finishReasons)('after %s, the last chunk has the stop reason of whole replies', (reason) => {
    expect(chat(finish(reason), usage)).toEqual([begins, ends(encodeStopReason(reason))])
  })

  test('log-probabilities are beside the text that they belong to', () => {
    const logprobs = [{ logprobs_by_token: { b: -1, a: -0.5 } }]
    expect(
      chat({ type: 'text-delta', choice, delta: 'a', tokens }, { type: 'reasoning-delta', choice, delta: 'h', tokens }),
    ).toEqual([begins, { event: { ...says('a').event, logprobs } }, { event: { ...says('').event, logprobs } }])
  })

  test('a failure is one frame', () => {
    const error = new AppError('engine-failed', 'It broke.')
    expect(chat({ type: 'text-delta', choice, delta: 'a' }, { type: 'error', error })).toEqual([
      begins,
      says('a'),
      { error: { detail: 'It broke.', message: 'It broke.' } },
    ])
  })
})

describe('the stream of a completion', () => {
  test('has deltas, and a last one with the stop reason', () => {
    expect(
      framesOf(createCompletionEncoder(), [
        start,
        { type: 'text-delta', choice, delta: 'a', tokens },
        { type: 'text-delta', choice, delta: '' },
        finish('length'),
        usage,
      ]),
    ).toEqual([
      { delta: 'a', logprobs: [{ logprobs_by_token: { b: -1, a: -0.5 } }] },
      { delta: '', stop_reason: 'out_of_tokens', metrics },
    ])
  })

  test('a failure is one frame', () => {
    const error = new AppError('engine-failed', 'It broke.')
    expect(framesOf(createCompletionEncoder(), [start, { type: 'error', error }])).toEqual([
      { error: { detail: 'It broke.', message: 'It broke.' } },
    ])
  })
})
