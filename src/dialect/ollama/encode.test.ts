import { describe, expect, test } from 'vitest'
import type { GeneratedToken, GenerationEvent, Timings } from '../../contract/event.ts'
import { foldEvents } from '../../contract/result.ts'
import { type Clock, encodeResult } from './encode.ts'
import { createLineEncoder } from './encode-stream.ts'
import type { ReplyStyle } from './style.ts'

const clock: Clock = { wallMs: () => Date.UTC(2026, 0, 1) }
const chat: ReplyStyle = { model: 'M:latest', form: 'chat', isEmpty: false, thinks: undefined }
const head = { model: 'M:latest', created_at: '2026-01-01T00:00:00.000Z' }
const start: GenerationEvent = { type: 'start', model: 'm', warnings: [] }
const usage = { inputTokens: 7, cachedInputTokens: 3, outputTokens: 5, reasoningTokens: 1 }
const ended = (timings: Timings = { loadMs: 1, prefillMs: 2, decodeMs: 4, totalMs: 20 }): GenerationEvent => ({
  type: 'usage',
  usage,
  timings,
})
const finish: GenerationEvent = { type: 'finish', choice: 0, reason: 'stop' }
const text = (delta: string, tokens?: readonly GeneratedToken[]): GenerationEvent => ({
  type: 'text-delta',
  choice: 0,
  delta,
  ...(tokens !== undefined && { tokens }),
})
const thought: GenerationEvent = { type: 'reasoning-delta', choice: 0, delta: 'hm' }
const token = (word: string): GeneratedToken => ({ id: 1, text: word, bytes: [...Buffer.from(word)], logprob: -0.5, top: [] })
const call = (id: string, input: string): GenerationEvent[] => [
  { type: 'tool-call-start', choice: 0, id, name: 'f', tokens: [token('<')] },
  { type: 'tool-call-delta', choice: 0, id, delta: input.slice(0, 3) },
  { type: 'tool-call-delta', choice: 0, id, delta: input.slice(3), tokens: [token('>')] },
  { type: 'tool-call-end', choice: 0, id },
]
const totals = {
  total_duration: 20_000_000,
  load_duration: 1_000_000,
  prompt_eval_count: 7,
  prompt_eval_duration: 2_000_000,
  eval_count: 5,
  eval_duration: 4_000_000,
}

function stream(events: readonly GenerationEvent[], style = chat): string[] {
  const encoder = createLineEncoder(style, clock)
  const all = events.map((event) => encoder.encode(event)).join('')
  expect(all.endsWith('\n')).toBe(true)
  return all.slice(0, -1).split('\n')
}

const lines = (events: readonly GenerationEvent[], style = chat) => stream(events, style).map((line) => JSON.parse(line))

async function whole(events: readonly GenerationEvent[], style = chat): Promise<unknown> {
  const result = await foldEvents({
    run: async (emit) => {
      for (const event of events) await emit(event)
    },
  })
  return encodeResult(result, style, clock)
}

const message = (fields: object) => ({ message: { role: 'assistant', content: '', ...fields } })

describe('a chat', () => {
  test('is thinking, text, whole calls, and a last line with counts and durations', () => {
    const events = [start, thought, text('I look.'), ...call('c1', '{"a":1}'), ...call('c2', '{}'), finish, ended()]
    expect(lines(events)).toEqual([
      { ...head, ...message({ thinking: 'hm' }), done: false },
      { ...head, ...message({ content: 'I look.' }), done: false },
      {
        ...head,
        ...message({ tool_calls: [{ id: 'c1', function: { index: 0, name: 'f', arguments: { a: 1 } } }] }),
        logprobs: [expect.objectContaining({ token: '<' }), expect.objectContaining({ token: '>' })],
        done: false,
      },
      {
        ...head,
        ...message({ tool_calls: [{ id: 'c2', function: { index: 1, name: 'f', arguments: {} } }] }),
        logprobs: expect.any(Array),
        done: false,
      },
      { ...head, ...message({}), done: true, done_reason: 'stop', ...totals },
    ])
  })

  test('that is not streamed is all of it in one object', async () => {
    const events = [start, thought, text('I '), text('look.'), ...call('c1', '{"a":1}'), finish, ended()]
    expect(await whole(events)).toMatchObject({
      ...head,
      ...message({
        content: 'I look.',
        thinking: 'hm',
        tool_calls: [{ id: 'c1', function: { index: 0, name: 'f', arguments: { a: 1 } } }],
      }),
      done: true,
      done_reason: 'stop',
      ...totals,
    })
  })

  test('keeps the digits of arguments that a double does not hold, in a stream as well', () => {
    const [made] = stream([start, ...call('c', '{"id":1234567890123456789,"name":"é\u2028"}'), finish, ended()])
    expect(made).toContain('"arguments":{"id":1234567890123456789,"name":"é\\u2028"}')
  })

  test('has no call whose arguments are not an object: that is an error', async () => {
    const broken = [start, ...call('c', '[1]'), finish, ended()]
    expect(() => stream(broken)).toThrow(expect.objectContaining({ code: 'invalid-output' }))
    await expect(whole(broken)).rejects.toMatchObject({ code: 'invalid-output' })
  })

  test.each([
    [{ reason: 'length' }, 'length'],
    [{ reason: 'stop', stopSequence: 'END' }, 'stop'],
  ] as const)('that ends in a call leaves it out, and says why: %j', async (end, done_reason) => {
    const cut = [start, text('I look.'), ...call('c', '{"a":'), { type: 'finish', choice: 0, ...end } as const, ended()]
    expect(lines(cut)).toMatchObject([
      { message: { content: 'I look.' } },
      // Its tokens.
      { ...message({}), logprobs: [{ token: '<' }, { token: '>' }] },
      { ...message({}), done_reason },
    ])
    expect(await whole(cut)).toMatchObject({ ...message({ content: 'I look.' }), done_reason })
  })

  test('with a broken call before something else is an error', () => {
    expect(() => stream([start, ...call('c', '{"a":'), text('more')])).toThrow(
      expect.objectContaining({ code: 'invalid-output' }),
    )
  })

  test.each([
    ['length', 'length'],
    ['context-full', 'length'],
    ['tool-calls', 'stop'],
    ['cancelled', 'length'],
  ] as const)('that ends for %s says %s', (reason, done) => {
    expect(lines([start, { ...finish, reason }, ended()]).at(-1)).toMatchObject({ done: true, done_reason: done })
  })

  test('has no line without anything in it', () => {
    expect(lines([start, text(''), { ...thought, delta: '' }, finish, ended()])).toHaveLength(1)
    expect(lines([start, text('', [token('<')]), finish, ended()])).toHaveLength(2)
  })

  test('of which no tokens were asked has no text, and ends with length', async () => {
    const style = { ...chat, isEmpty: true }
    expect(lines([start, text('a'), finish, ended()], style)).toMatchObject([{ ...message({}), done_reason: 'length' }])
    expect(await whole([start, text('a'), finish, ended()], style)).toMatchObject({ ...message({}), done_reason: 'length' })
  })

  test('shows each token with its bytes and the most likely ones', () => {
    const top = [{ id: 2, text: 'b', bytes: [98], logprob: Number.NEGATIVE_INFINITY }]
    const [made] = lines([start, text('é', [{ ...token('é'), top }]), finish, ended()])
    expect(made.logprobs).toEqual([
      { token: 'é', logprob: -0.5, bytes: [195, 169], top_logprobs: [{ token: 'b', logprob: -9999, bytes: [98] }] },
    ])
  })

  test('that fails is a last line with the text of the error', () => {
    const error = Object.assign(new Error('the engine stopped'), { code: 'engine-failed' })
    expect(lines([start, text('a'), { type: 'error', error: error as never }]).at(-1)).toEqual({ error: 'the engine stopped' })
  })
})

test.each([
  ['text', [{ response: '', thinking: 'hm' }, { response: 'a' }, { response: '', done: true }]],
  ['raw', [{ response: 'hm' }, { response: 'a' }, { response: '', done: true }]],
] as const)('the answer to a prompt of form %s is in `response`', async (form, expected) => {
  const style = { ...chat, form }
  const events = [start, thought, text('a'), finish, ended()]
  expect(lines(events, style)).toMatchObject(expected)
  const one = form === 'raw' ? { response: 'hma' } : { response: 'a', thinking: 'hm' }
  expect(await whole(events, style)).toMatchObject({ ...head, ...one, done: true })
})

test('a count above 0 has a duration above 0, which clients divide by', () => {
  expect(lines([start, finish, ended({ prefillMs: 0, decodeMs: 0 })]).at(-1)).toMatchObject({
    prompt_eval_duration: 1,
    eval_duration: 1,
  })
})

test('a reply of another model than was asked for has the name of that one, whole and streamed', async () => {
  const events = [{ ...start, insteadOf: 'M' }, text('hi'), finish, ended()]
  expect(new Set(lines(events).map(({ model }) => model))).toEqual(new Set(['m']))
  const run = async (emit: (event: GenerationEvent) => unknown) => void events.forEach(emit)
  expect(encodeResult(await foldEvents({ run }), chat, clock)).toMatchObject({ model: 'm' })
})
