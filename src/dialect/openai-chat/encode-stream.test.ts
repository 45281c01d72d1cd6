import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { codePoint } from '../../../test/support/code-point.ts'
import { incompleteReasons } from '../../../test/support/finish-reasons.ts'
import { createWireCheck } from '../../../test/support/wire-schema.ts'
import { AppError } from '../../contract/errors.ts'
import type { EventOf, GeneratedToken, GenerationEvent, StartEvent } from '../../contract/event.ts'
import { encodeTimings } from '../openai/times/encode-timings.ts'
import type { ReplyStyle } from './encode.ts'
import { createChunkEncoder } from './encode-stream.ts'

const checkChunk = createWireCheck('OpenAIChatCompletionChunk')
const head = { id: 'chatcmpl-1', createdSeconds: 1_700_000_000, systemFingerprint: 'dragoman-1' }
const constant = {
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model: 'a "model"',
  system_fingerprint: 'dragoman-1',
}
const usage: EventOf<'usage'> = {
  type: 'usage',
  usage: { inputTokens: 7, cachedInputTokens: 3, outputTokens: 5, reasoningTokens: 2 },
  timings: { decodeMs: 1 },
}
const wireUsage = {
  prompt_tokens: 7,
  completion_tokens: 5,
  total_tokens: 12,
  prompt_tokens_details: { cached_tokens: 3 },
  completion_tokens_details: { reasoning_tokens: 2 },
}

const text = (delta: string, choice = 0): GenerationEvent => ({ type: 'text-delta', choice, delta })
const finish = (choice = 0): GenerationEvent => ({ type: 'finish', choice, reason: 'stop' })

const plainStyle = { reasoningFields: 'both', legacyCalls: false, logprobs: false, includeUsage: false } as const

/** An encoder whose stream has started. */
function startStream(style: Partial<ReplyStyle & { includeUsage: boolean }> = {}) {
  const headOf = ({ model }: StartEvent) => ({ ...head, model })
  const encoder = createChunkEncoder(headOf, { ...plainStyle, ...style })
  expect(encoder.encode({ type: 'start', model: 'a "model"', warnings: [] })).toBe('')
  return encoder
}

/** The frames of a stream. Every chunk is checked against OpenAI's schema, strictly. */
function framesOf(events: readonly GenerationEvent[], includeUsage = false, style: Partial<ReplyStyle> = {}): unknown[] {
  const encoder = startStream({ ...style, includeUsage })
  return events.flatMap((event) => {
    const sent = encoder.encode(event)
    if (sent !== '') expect(sent.endsWith('\n\n')).toBe(true)
    return sent.split('\n\n').slice(0, -1).map(parseFrame)
  })
}

function parseFrame(frame: string): unknown {
  expect(frame).toMatch(/^data: [^\r\n\u0085\u2028\u2029]+$/)
  const data = frame.slice('data: '.length)
  if (data === '[DONE]') return data
  const chunk: unknown = JSON.parse(data)
  if (!Object.hasOwn(chunk as object, 'error')) checkChunk(chunk)
  return chunk
}

function chunkOf(delta: object, { choice = 0, finishReason = null as string | null } = {}): object {
  return { ...constant, choices: [{ index: choice, delta, logprobs: null, finish_reason: finishReason }] }
}

const role = (choice = 0) => chunkOf({ role: 'assistant', content: '' }, { choice })

describe('createChunkEncoder', () => {
  test('a plain answer is role, text, finish and the end', () => {
    expect(
      framesOf([
        { type: 'prompt-read', inputTokens: 7, cachedInputTokens: 3 },
        { type: 'text-start', choice: 0 },
        text('Hel'),
        text('lo'),
        { type: 'text-end', choice: 0 },
        finish(),
        usage,
      ]),
    ).toEqual([role(), chunkOf({ content: 'Hel' }), chunkOf({ content: 'lo' }), chunkOf({}, { finishReason: 'stop' }), '[DONE]'])
  })

  test('with usage asked for, every chunk has a null usage and the last one has the numbers and no choices', () => {
    expect(framesOf([text('a'), finish(), usage], true)).toEqual([
      { ...role(), usage: null },
      { ...chunkOf({ content: 'a' }), usage: null },
      { ...chunkOf({}, { finishReason: 'stop' }), usage: null },
      { ...constant, choices: [], usage: wireUsage, timings: encodeTimings(usage) },
      '[DONE]',
    ])
  })

  test('a choice without text still has its role and finish', () => {
    expect(framesOf([finish(), usage])).toEqual([role(), chunkOf({}, { finishReason: 'stop' }), '[DONE]'])
  })

  test('each choice has its own role chunk, before its first delta', () => {
    expect(framesOf([text('a', 1), text('b', 0), text('c', 1), finish(1), finish(0), usage])).toEqual([
      role(1),
      chunkOf({ content: 'a' }, { choice: 1 }),
      role(0),
      chunkOf({ content: 'b' }, { choice: 0 }),
      chunkOf({ content: 'c' }, { choice: 1 }),
      chunkOf({}, { choice: 1, finishReason: 'stop' }),
      chunkOf({}, { choice: 0, finishReason: 'stop' }),
      '[DONE]',
    ])
  })

  test('reasoning is sent under both names', () => {
    const frames = framesOf([
      { type: 'reasoning-start', choice: 0 },
      { type: 'reasoning-delta', choice: 0, delta: 'h"m' },
      { type: 'reasoning-end', choice: 0 },
      text('a'),
    ])
    const none = { reasoning_content: null, reasoning: null }
    expect(frames).toEqual([
      chunkOf({ role: 'assistant', content: '', ...none }),
      chunkOf({ reasoning_content: 'h"m', reasoning: 'h"m' }),
      chunkOf({ content: 'a', ...none }),
    ])
  })

  test('of a model that reasons, each delta has its fields, also where it does not', () => {
    const { encode } = createChunkEncoder(({ model }) => ({ ...head, model }), { ...plainStyle, includeUsage: false })
    const started = { type: 'start', model: 'm', warnings: [], reasons: true } as const
    const call = { type: 'tool-call-start', choice: 0, id: 'call_a', name: 'f' } as const
    const frames = [started, text('a'), call, finish()].flatMap((event) => encode(event).split('\n\n').slice(0, -1))
    const deltas = frames
      .map((frame) => parseFrame(frame) as { choices: { delta: object }[] })
      .map(({ choices }) => choices[0]?.delta)
    expect(deltas).toHaveLength(4)
    for (const delta of deltas) expect(delta).toMatchObject({ reasoning_content: null, reasoning: null })
  })

  test('a refusal is sent apart from the text', () => {
    const frames = framesOf([
      text('Well.'),
      { type: 'refusal-start', choice: 0 },
      { type: 'refusal-delta', choice: 0, delta: 'I "can' },
      { type: 'refusal-delta', choice: 0, delta: 'not".' },
      { type: 'refusal-end', choice: 0 },
      { type: 'finish', choice: 0, reason: 'refusal' },
    ])
    expect(frames).toEqual([
      role(),
      chunkOf({ content: 'Well.' }),
      chunkOf({ refusal: 'I "can' }),
      chunkOf({ refusal: 'not".' }),
      chunkOf({}, { finishReason: 'content_filter' }),
    ])
  })

  test('annotations are sent as they come; those of files have no place in a chunk', () => {
    const url = 'https://a.example/\u2028'
    const frames = framesOf([
      text('Rain'),
      { type: 'annotation', choice: 0, annotation: { type: 'url-citation', url, title: 'A', startIndex: 0, endIndex: 4 } },
      { type: 'annotation', choice: 0, annotation: { type: 'file-citation', fileId: 'file-1' } },
    ])
    const citation = { type: 'url_citation', url_citation: { url, title: 'A', start_index: 0, end_index: 4 } }
    expect(frames).toEqual([role(), chunkOf({ content: 'Rain' }), chunkOf({ annotations: [citation] })])
  })

  test.each(incompleteReasons)('an answer that is not complete never reads as stop: %s', (reason) => {
    const [, end] = framesOf([{ type: 'finish', choice: 0, reason }]) as { choices: { finish_reason: string | null }[] }[]
    expect(end?.choices[0]?.finish_reason).toMatch(/^(?!stop$)\w+$/)
  })

  test('a tool call opens with its index, id, type and name, and its arguments follow in fragments', () => {
    const frames = framesOf([
      { type: 'tool-call-start', choice: 0, id: 'call_a', name: 'f' },
      { type: 'tool-call-delta', choice: 0, id: 'call_a', delta: '{"x"' },
      { type: 'tool-call-delta', choice: 0, id: 'call_a', delta: ':1}' },
      { type: 'tool-call-end', choice: 0, id: 'call_a' },
      { type: 'tool-call-start', choice: 0, id: 'call_b', name: 'g' },
      { type: 'tool-call-delta', choice: 0, id: 'call_b', delta: '{}' },
      { type: 'finish', choice: 0, reason: 'tool-calls' },
    ])
    const opening = (index: number, id: string, name: string) =>
      chunkOf({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] })
    const fragment = (index: number, text: string) => chunkOf({ tool_calls: [{ index, function: { arguments: text } }] })
    expect(frames).toEqual([
      role(),
      opening(0, 'call_a', 'f'),
      fragment(0, '{"x"'),
      fragment(0, ':1}'),
      opening(1, 'call_b', 'g'),
      fragment(1, '{}'),
      chunkOf({}, { finishReason: 'tool_calls' }),
    ])
  })

  test('of two calls with one id, each fragment goes to the later one', () => {
    const opened: GenerationEvent = { type: 'tool-call-start', choice: 0, id: 'call_a', name: 'f' }
    const frames = framesOf([opened, opened, { type: 'tool-call-delta', choice: 0, id: 'call_a', delta: '{}' }])
    expect(frames.at(-1)).toEqual(chunkOf({ tool_calls: [{ index: 1, function: { arguments: '{}' } }] }))
  })

  test('tool calls are counted for each choice', () => {
    const frames = framesOf([
      { type: 'tool-call-start', choice: 0, id: 'call_a', name: 'f' },
      { type: 'tool-call-start', choice: 1, id: 'call_b', name: 'f' },
    ])
    expect(frames[3]).toMatchObject({ choices: [{ index: 1, delta: { tool_calls: [{ index: 0, id: 'call_b' }] } }] })
  })

  test('custom calls have their text, beside the arguments of functions', () => {
    const frames = framesOf([
      { type: 'tool-call-start', choice: 0, id: 'call_a', name: 'f', kind: 'custom' },
      { type: 'tool-call-delta', choice: 0, id: 'call_a', delta: 'a "b"' },
      { type: 'tool-call-end', choice: 0, id: 'call_a' },
      { type: 'tool-call-start', choice: 0, id: 'call_b', name: 'g' },
      { type: 'tool-call-delta', choice: 0, id: 'call_b', delta: '{}' },
    ])
    expect(frames.slice(1)).toEqual(
      [
        { index: 0, id: 'call_a', type: 'custom', custom: { name: 'f', input: '' } },
        { index: 0, custom: { input: 'a "b"' } },
        { index: 1, id: 'call_b', type: 'function', function: { name: 'g', arguments: '' } },
        { index: 1, function: { arguments: '{}' } },
      ].map((call) => chunkOf({ tool_calls: [call] })),
    )
  })

  test.each([
    ['reasoning_content', { reasoning_content: 'hm' }],
    ['reasoning', { reasoning: 'hm' }],
  ] as const)('reasoning under the name %s only', (reasoningFields, delta) => {
    const events: GenerationEvent[] = [{ type: 'reasoning-delta', choice: 0, delta: 'hm' }]
    const none = { [reasoningFields]: null }
    expect(framesOf(events, false, { reasoningFields })).toEqual([
      chunkOf({ role: 'assistant', content: '', ...none }),
      chunkOf(delta),
    ])
  })

  test('reasoning that is not shown still says that the model has begun', () => {
    const events: GenerationEvent[] = [{ type: 'reasoning-delta', choice: 0, delta: 'hm' }, text('a')]
    expect(framesOf(events, false, { reasoningFields: 'none' })).toEqual([role(), chunkOf({ content: 'a' })])
  })

  test('a call of a deprecated function is told in fragments, with its own finish reason', () => {
    const frames = framesOf(
      [
        { type: 'tool-call-start', choice: 0, id: 'call_a', name: 'f' },
        { type: 'tool-call-delta', choice: 0, id: 'call_a', delta: '{}' },
        { type: 'tool-call-end', choice: 0, id: 'call_a' },
        { type: 'finish', choice: 0, reason: 'tool-calls' },
      ],
      false,
      { legacyCalls: true },
    )
    expect(frames).toEqual([
      role(),
      chunkOf({ function_call: { name: 'f', arguments: '' } }),
      chunkOf({ function_call: { arguments: '{}' } }),
      chunkOf({}, { finishReason: 'function_call' }),
    ])
  })

  describe('log-probabilities', () => {
    const token = (name: string): GeneratedToken => ({ id: 1, text: name, bytes: [...Buffer.from(name)], logprob: -1, top: [] })
    const tokensOf = (...names: string[]) => ({ tokens: names.map(token) })
    /** The tokens of every frame, by its choice. */
    const toldBy = (events: readonly GenerationEvent[], style: Partial<ReplyStyle> = {}) =>
      framesOf(events, false, { logprobs: true, ...style }).map((frame) => {
        type Wire = { choices: { index: number; logprobs: { content: { token: string }[] } | null }[] }
        const choice = (frame as Wire).choices[0]
        return [choice?.index, ...(choice?.logprobs?.content.map((item) => item.token) ?? [])]
      })

    test('are on the chunk of their text, and only where there are any', () => {
      const events: GenerationEvent[] = [{ ...text('ab'), ...tokensOf('a', 'b') } as GenerationEvent, text('c'), finish()]
      expect(toldBy(events)).toEqual([[0], [0, 'a', 'b'], [0], [0]])
      expect(framesOf(events)).toEqual(framesOf([text('ab'), text('c'), finish()]))
    })

    test('of each choice stay with their choice', () => {
      expect(
        toldBy([
          { ...text('a', 1), ...tokensOf('a') } as GenerationEvent,
          { ...text('b', 0), ...tokensOf('b') } as GenerationEvent,
        ]),
      ).toEqual([[1], [1, 'a'], [0], [0, 'b']])
    })

    test('are told with calls and reasoning too', () => {
      expect(
        toldBy([
          { type: 'reasoning-delta', choice: 0, delta: 'r', ...tokensOf('r') },
          { type: 'tool-call-start', choice: 0, id: 'c', name: 'f', ...tokensOf('f', '(') },
          { type: 'tool-call-delta', choice: 0, id: 'c', delta: '{}', ...tokensOf('{}') },
          finish(),
        ]),
      ).toEqual([[0], [0, 'r'], [0, 'f', '('], [0, '{}'], [0]])
    })

    test('are kept without a change to the events that they came with', () => {
      const hidden: GenerationEvent = { type: 'reasoning-delta', choice: 0, delta: 'r', ...tokensOf('r') }
      toldBy([hidden, hidden, finish()], { reasoningFields: 'none' })
      expect(hidden).toMatchObject({ tokens: [{ text: 'r' }] })
    })

    test('of events without a chunk go with the next chunk of their choice, the last one at the latest', () => {
      const hidden: GenerationEvent = { type: 'reasoning-delta', choice: 0, delta: 'r', ...tokensOf('r') }
      const events = [hidden, hidden, text('other', 1), finish()]
      expect(toldBy(events, { reasoningFields: 'none' })).toEqual([[0], [1], [1], [0, 'r', 'r']])
    })
  })

  test('a failure is one error frame and then the end', () => {
    const error = new AppError('engine-failed', 'the engine stopped')
    expect(framesOf([text('a'), { type: 'error', error }], true).slice(2)).toEqual([
      { error: { message: 'the engine stopped', type: 'server_error', param: null, code: 'engine_failed' } },
      '[DONE]',
    ])
  })

  /** The chunk written the slow way, whole, with the three characters escaped that some clients take for line ends. */
  function writeSlowly(chunk: object): string {
    const json = JSON.stringify(chunk)
      .replaceAll('\u0085', '\\u0085')
      .replaceAll('\u2028', '\\u2028')
      .replaceAll('\u2029', '\\u2029')
    return `data: ${json}\n\n`
  }

  test.each([
    'plain',
    '',
    '"quotes" and \\backslashes\\',
    '\n\r\t\u0000\u001f',
    '\ud83d',
    '\ude00 alone',
    '😀 👩‍👩‍👧',
    'a\u0085b\u2028c\u2029d',
    '</script><!-- \u007f',
    'data: [DONE]\n\n',
  ])('the text %j is written as the JSON of the whole chunk would be', (delta) => {
    for (const includeUsage of [false, true]) {
      const encoder = startStream({ includeUsage })
      encoder.encode({ type: 'text-start', choice: 0 })
      const tail = includeUsage ? { usage: null } : {}
      expect(encoder.encode(text(delta))).toBe(writeSlowly({ ...chunkOf({ content: delta }), ...tail }))
      expect(encoder.encode({ type: 'reasoning-delta', choice: 0, delta })).toBe(
        writeSlowly({ ...chunkOf({ reasoning_content: delta, reasoning: delta }), ...tail }),
      )
    }
  })

  test('any text is written as the JSON of the whole chunk would be', () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint }), (delta) => {
        const encoder = startStream({ includeUsage: true })
        encoder.encode({ type: 'text-start', choice: 0 })
        expect(encoder.encode(text(delta))).toBe(writeSlowly({ ...chunkOf({ content: delta }), usage: null }))
      }),
    )
  })

  test('however a text is cut, the joined deltas are the text', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: codePoint })), (deltas) => {
        const frames = framesOf(deltas.map((delta) => text(delta)))
        const joined = frames.map(
          (frame) => (frame as { choices: { delta: { content: string } }[] }).choices[0]?.delta.content ?? '',
        )
        expect(joined.join('')).toBe(deltas.join(''))
      }),
      { numRuns: 50 },
    )
  })
})
