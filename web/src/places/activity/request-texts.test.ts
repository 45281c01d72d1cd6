import { describe, expect, test } from 'vitest'
import type { WatchedRequest } from '../../live/wire.ts'
import { differenceText, matches, ordinal, protocolOf, speedOf, stateText, waterfallOf, wordsOf } from './request-texts.ts'

const request: WatchedRequest = {
  id: 'chatcmpl-1',
  request_id: 'req-1',
  key: 'alice',
  route: '/v1/chat/completions',
  state: 'done',
  started_at_ms: 1000,
  ended_at_ms: 2000,
  model: 'org/model',
  output_tokens: 21,
  timings: { queue_ms: 100, prompt_ms: 300, decode_ms: 500, total_ms: 950 },
}

test.each<[Partial<WatchedRequest>, string]>([
  [{ state: 'waiting', position: 3 }, 'waiting 3rd'],
  [{ state: 'loading', waits_for: 'load', progress: 0.4 }, 'loading 40 %'],
  [{ state: 'loading', waits_for: 'memory' }, 'waiting for memory'],
  [{ state: 'reading_prompt' }, 'reading the prompt'],
  [{ state: 'generating', output_tokens: 214 }, '214 tokens'],
  [{ state: 'cancelled', cancelled: { reason: 'requested', by: 'root' } }, 'cancelled by root'],
  [{ state: 'cancelled', cancelled: { reason: 'client-gone' } }, 'cancelled by client'],
  [{ state: 'failed' }, 'failed'],
])('%j reads as "%s"', (more, text) => {
  expect(stateText({ ...request, ...more })).toBe(text)
})

test('positions are ordinals', () => {
  expect([1, 2, 3, 4, 11, 12, 13, 21, 102, 113].map(ordinal)).toEqual([
    '1st',
    '2nd',
    '3rd',
    '4th',
    '11th',
    '12th',
    '13th',
    '21st',
    '102nd',
    '113th',
  ])
})

test('a waterfall has the phases in their order, and what remains', () => {
  expect(waterfallOf(request)).toEqual([
    { phase: 'queue', ms: 100 },
    { phase: 'prompt', ms: 300 },
    { phase: 'decode', ms: 500 },
    { phase: 'other', ms: 50 },
  ])
  expect(waterfallOf({ ...request, state: 'generating' })).toEqual([])
})

test('the speed counts the tokens after the first', () => {
  expect(speedOf(request)).toBe(40)
  expect(speedOf({ ...request, output_tokens: 1 })).toBeUndefined()
})

describe('a filter', () => {
  test.each([
    ['', true],
    ['alice org', true],
    ['alice bob', false],
    ['caller:alice state:done', true],
    ['caller:done', false],
    ['state:running', false],
    ['DONE', true],
    ['req-1', true],
  ])('the filter %j finds its requests only', (filter, isShown) => {
    expect(matches(request, wordsOf(filter))).toBe(isShown)
  })
})

test('protocols are named for people', () => {
  expect([protocolOf('/v1/messages'), protocolOf('/own/chat')]).toEqual(['Messages', '/own/chat'])
})

test.each([
  [
    { at: 'messages[3].content[0]', part: 'text', change: 'date', missed_tokens: 18412 },
    'the text has changed in message 4 (another date or time).',
  ],
  [{ at: 'tools[1]', part: 'tool', change: 'order', missed_tokens: 18412 }, 'a tool has changed in tool 2 (another order).'],
  [
    { at: 'reasoning.effort', part: 'setting', change: 'value', missed_tokens: 18412 },
    'a setting has changed in reasoning.effort (another value).',
  ],
  [{ at: 'messages[0]', part: 'message', missed_tokens: 18412 }, 'the message has changed in message 1.'],
])('a difference is explained: %j', (diverged, words) => {
  expect(differenceText(diverged)).toBe(`About 18,412 tokens could not come from the cache: since the turn before, ${words}`)
})
