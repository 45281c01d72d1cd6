import { describe, expect, test } from 'vitest'
import { incompleteReasons } from '../../../test/support/finish-reasons.ts'
import { call, reasoning, refusal, text } from '../../../test/support/parts.ts'
import { sealed, plainSealer as sealer } from '../../../test/support/plain-sealer.ts'
import { createWireCheck } from '../../../test/support/wire-schema.ts'
import { AppError } from '../../contract/errors.ts'
import type { FinishReason, GenerationEvent, StartEvent } from '../../contract/event.ts'
import type { OutputPart } from '../../contract/request.ts'
import type { Choice } from '../../contract/result.ts'
import { encodeMessage, encodeStop } from './encode.ts'
import { createMessageEncoder } from './encode-stream.ts'
import { encodeAnthropicError } from './errors.ts'

const checkMessage = createWireCheck('AnthropicMessage')
const checkEvent = createWireCheck('AnthropicStreamEvent')
const checkError = createWireCheck('AnthropicErrorResponse')

const start: StartEvent = { type: 'start', model: 'm', inputTokens: 7, warnings: [] }
const usage = { inputTokens: 7, cachedInputTokens: 3, outputTokens: 5, reasoningTokens: 2 }
const style = { id: 'msg_1', thinking: 'shown', sealer, container: 'c1' } as const

function encode(parts: readonly OutputPart[], finish: Choice['finish'] = { reason: 'stop' }, shown = style as Style) {
  const message = encodeMessage({ start, choices: [{ parts, tokens: [], finish }], usage, timings: {} }, shown)
  checkMessage(message)
  return message as { content: readonly unknown[]; stop_reason: string; stop_sequence: string | null; usage: object }
}

type Style = Parameters<typeof encodeMessage>[1]

describe('a whole reply', () => {
  test('has its blocks in the order of generation', () => {
    const reply = encode([reasoning('Hm.'), text('I look.'), call('t1', 'f', '{"a":1}'), call('t2', 'g', '')], {
      reason: 'tool-calls',
    })
    expect(reply.content).toEqual([
      { type: 'thinking', thinking: 'Hm.', signature: sealed('Hm.') },
      { type: 'text', text: 'I look.' },
      { type: 'tool_use', id: 't1', name: 'f', input: { a: 1 }, caller: { type: 'direct' }, toolset_name: null },
      { type: 'tool_use', id: 't2', name: 'g', input: {}, caller: { type: 'direct' }, toolset_name: null },
    ])
    expect(reply.stop_reason).toBe('tool_use')
  })

  test.each(['{"a":', '[1]', 'x'])('a call with the arguments %s is an invalid output', (input) => {
    expect(() => encode([call('t1', 'f', input)])).toThrow(expect.objectContaining({ code: 'invalid-output' }))
    const events: GenerationEvent[] = [
      { type: 'tool-call-start', choice: 0, id: 't1', name: 'f' },
      { type: 'tool-call-delta', choice: 0, id: 't1', delta: input },
      { type: 'tool-call-end', choice: 0, id: 't1', state: 'unparseable' },
    ]
    expect(() => stream(events)).toThrow(expect.objectContaining({ code: 'invalid-output' }))
  })

  test.each<[Choice['finish'], string]>([
    [{ reason: 'length' }, 'max_tokens'],
    [{ reason: 'stop', stopSequence: 'END' }, 'stop_sequence'],
  ])('that ends in a call leaves it out, and says why: %j', (finish, stop_reason) => {
    const cut = encode([text('I look.'), call('t1', 'f', '{"a":')], finish)
    expect(cut).toMatchObject({ content: [{ type: 'text', text: 'I look.' }], stop_reason })
    expect(cut.content).toHaveLength(1)
  })

  test('counts cached tokens apart', () => {
    expect(encode([text('x')]).usage).toMatchObject({ input_tokens: 4, cache_read_input_tokens: 3, output_tokens: 5 })
  })

  test.each<[Style['thinking'], unknown[]]>([
    ['shown', [{ type: 'thinking', thinking: 'Hm.', signature: sealed('Hm.') }]],
    ['omitted', [{ type: 'thinking', thinking: '', signature: sealed('Hm.') }]],
    ['none', []],
  ])('thinking: %s', (thinking, content) => {
    expect(encode([reasoning('Hm.')], undefined, { ...style, thinking }).content).toEqual(content)
  })

  test('a refusal is a text, and says so in its reason', () => {
    const reply = encode([refusal('No.')], { reason: 'refusal' })
    expect(reply).toMatchObject({ content: [{ type: 'text', text: 'No.' }], stop_reason: 'refusal' })
  })

  test('sources are citations', () => {
    const parts = [{ ...text('x'), annotations: [{ type: 'url-citation' as const, url: 'http://a', title: 'A' }] }]
    expect(encode(parts).content).toMatchObject([{ citations: [{ type: 'web_search_result_location', url: 'http://a' }] }])
  })

  test('a source without a title has an empty one: clients refuse null', () => {
    const parts = [{ ...text('x'), annotations: [{ type: 'url-citation' as const, url: 'http://a' }] }]
    expect(encode(parts).content).toMatchObject([{ citations: [{ title: '' }] }])
  })
})

describe('the reason of the end', () => {
  test.each<[FinishReason, string]>([
    ['stop', 'end_turn'],
    ['length', 'max_tokens'],
    ['context-full', 'model_context_window_exceeded'],
    ['tool-calls', 'tool_use'],
    ['content-filter', 'refusal'],
    ['refusal', 'refusal'],
    ['paused', 'pause_turn'],
    ['end-of-message', 'end_turn'],
  ])('%s is %s', (reason, stop_reason) => {
    expect(encodeStop({ reason })).toMatchObject({ stop_reason, stop_sequence: null })
  })

  test('a stop sequence is named', () => {
    expect(encodeStop({ reason: 'stop', stopSequence: 'END' })).toMatchObject({
      stop_reason: 'stop_sequence',
      stop_sequence: 'END',
    })
  })

  test.each(incompleteReasons)('%s is never a complete turn', (reason) => {
    expect(['end_turn', 'stop_sequence']).not.toContain(encodeStop({ reason }).stop_reason)
  })
})

const delta = (type: 'text-delta' | 'reasoning-delta', words: string): GenerationEvent => ({ type, choice: 0, delta: words })
const finish = (reason: FinishReason): GenerationEvent => ({ type: 'finish', choice: 0, reason })
const end: GenerationEvent = { type: 'usage', usage, timings: {} }

/** The events of a stream, each checked against the schema of the official SDK. */
function stream(events: readonly GenerationEvent[], shown = style as Style): { type: string; [key: string]: unknown }[] {
  const encoder = createMessageEncoder(shown)
  const frames = [start, ...events].flatMap((event) => encoder.encode(event).split('\n\n').slice(0, -1))
  return frames.map((frame) => {
    const [, name, data = ''] = /^event: (\w+)\ndata: ([^\r\n]+)$/.exec(frame) ?? []
    const event = JSON.parse(data)
    expect(event.type).toBe(name)
    if (name === 'error') checkError(event)
    else checkEvent(event)
    return event
  })
}

describe('a stream', () => {
  test('text', () => {
    const events = stream([
      { type: 'prompt-read', inputTokens: 7, cachedInputTokens: 3 },
      { type: 'text-start', choice: 0 },
      delta('text-delta', 'Hel'),
      delta('text-delta', 'lo'),
      { type: 'text-end', choice: 0 },
      finish('stop'),
      end,
    ])
    expect(events).toMatchObject([
      { type: 'message_start', message: { id: 'msg_1', model: 'm', usage: { input_tokens: 4, cache_read_input_tokens: 3 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } },
      { type: 'message_stop' },
    ])
  })

  test('a thought, a text and two calls', () => {
    const events = stream([
      delta('reasoning-delta', 'Hm.'),
      delta('text-delta', 'I look.'),
      { type: 'tool-call-start', choice: 0, id: 't1', name: 'f' },
      { type: 'tool-call-delta', choice: 0, id: 't1', delta: '{"a":1}' },
      { type: 'tool-call-end', choice: 0, id: 't1' },
      { type: 'tool-call-start', choice: 0, id: 't2', name: 'g' },
      { type: 'tool-call-end', choice: 0, id: 't2' },
      finish('tool-calls'),
      end,
    ])
    expect(events.map(({ type, index, content_block, delta: piece }) => [type, index, content_block ?? piece])).toMatchObject([
      ['message_start', undefined, undefined],
      ['content_block_start', 0, { type: 'thinking' }],
      ['content_block_delta', 0, { type: 'thinking_delta', thinking: 'Hm.' }],
      ['content_block_delta', 0, { type: 'signature_delta', signature: sealed('Hm.') }],
      ['content_block_stop', 0, undefined],
      ['content_block_start', 1, { type: 'text' }],
      ['content_block_delta', 1, { type: 'text_delta', text: 'I look.' }],
      ['content_block_stop', 1, undefined],
      ['content_block_start', 2, { type: 'tool_use', id: 't1', name: 'f', input: {} }],
      ['content_block_delta', 2, { type: 'input_json_delta', partial_json: '{"a":1}' }],
      ['content_block_stop', 2, undefined],
      ['content_block_start', 3, { type: 'tool_use', id: 't2', name: 'g', input: {} }],
      ['content_block_stop', 3, undefined],
      ['message_delta', undefined, { stop_reason: 'tool_use' }],
      ['message_stop', undefined, undefined],
    ])
  })

  test('an omitted thought has a signature only', () => {
    const events = stream([delta('reasoning-delta', 'Hm.'), delta('text-delta', 'x'), finish('stop'), end], {
      ...style,
      thinking: 'omitted',
    })
    expect(events.map(({ delta: piece }) => piece).filter((piece) => piece !== undefined)).toMatchObject([
      { type: 'signature_delta', signature: sealed('Hm.') },
      { type: 'text_delta' },
      { stop_reason: 'end_turn' },
    ])
  })

  test.each([
    ['its own text', [delta('reasoning-delta', 'Hm.')], 'Hm.'],
    ['no text', [], ''],
  ] as const)('what an upstream signed is in our signature, with %s', (_, thought, words) => {
    const signed: GenerationEvent = { type: 'reasoning-end', choice: 0, opaque: 's1' }
    const events = stream([{ type: 'reasoning-start', choice: 0 }, ...thought, signed, finish('stop'), end])
    expect(events.map(({ delta: piece }) => piece)).toContainEqual({
      type: 'signature_delta',
      signature: sealed(words, 's1'),
    })
    expect(encode([{ ...reasoning(words), opaque: 's1' }]).content).toEqual([
      { type: 'thinking', thinking: words, signature: sealed(words, 's1') },
    ])
  })

  test('nothing but an end', () => {
    expect(stream([finish('length'), end]).map(({ type }) => type)).toEqual(['message_start', 'message_delta', 'message_stop'])
  })

  test('an error ends it, without message_stop', () => {
    const events = stream([delta('text-delta', 'x'), { type: 'error', error: new AppError('upstream-failed', 'it broke') }])
    expect(events.at(-1)).toEqual({ type: 'error', error: { type: 'api_error', message: 'it broke' }, request_id: null })
  })
})

describe('errors', () => {
  test.each([
    ['invalid-request', 400, 'invalid_request_error'],
    ['unauthorized', 401, 'authentication_error'],
    ['forbidden', 403, 'permission_error'],
    ['model-not-found', 404, 'not_found_error'],
    ['body-too-large', 413, 'request_too_large'],
    ['queue-full', 429, 'rate_limit_error'],
    ['rate-limit-exceeded', 429, 'rate_limit_error'],
    ['budget-exceeded', 429, 'rate_limit_error'],
    ['internal', 500, 'api_error'],
    ['model-unavailable', 529, 'overloaded_error'],
  ] as const)('%s is %i %s', (code, status, type) => {
    const reply = encodeAnthropicError(new AppError(code, 'what is wrong'), 'req_1')
    // The SDK's types lack the type of 413, which the API's documents have.
    if (code !== 'body-too-large') checkError(reply.body)
    expect(reply).toMatchObject({
      status,
      body: { type: 'error', error: { type, message: 'what is wrong' }, request_id: 'req_1' },
    })
  })

  test('the field at fault is in the message', () => {
    const { body } = encodeAnthropicError(new AppError('invalid-request', 'expected a number', { param: 'top_k' }))
    expect(body.error.message).toBe('top_k: expected a number')
  })

  test.each([
    [{ inputTokens: 9000, contextLength: 8192 }, 'prompt is too long: 9000 tokens > 8192 maximum'],
    [
      { inputTokens: 9000, contextLength: 8192, tools: 24 },
      'prompt is too long: 9000 tokens > 8192 maximum; it declares 24 tools: send fewer',
    ],
    // It would fit: what does not, the server behind the model has said.
    [{ inputTokens: 769, contextLength: 8192 }, 'said by a server'],
    [
      { inputTokens: 8000, outputTokens: 500, contextLength: 8192 },
      'input length and `max_tokens` exceed context limit: 8000 + 500 > 8192',
    ],
  ])('an overflow in the words that clients read: %j', (overflow, message) => {
    const error = new AppError('context-length-exceeded', 'said by a server', { overflow })
    expect(encodeAnthropicError(error).body.error.message).toContain(message)
  })
})
