import { describe, expect, test } from 'vitest'
import { incompleteReasons } from '../../../test/support/finish-reasons.ts'
import { reasoning, refusal, text as said } from '../../../test/support/parts.ts'
import { createWireCheck } from '../../../test/support/wire-schema.ts'
import { AppError } from '../../contract/errors.ts'
import type { GeneratedToken, GenerationEvent, PromptToken } from '../../contract/event.ts'
import { type Choice, foldEvents, type GenerationResult } from '../../contract/result.ts'
import { encodeTimings } from '../openai/times/encode-timings.ts'
import { encodeResult, type ReplyStyle } from './encode.ts'
import { createChunkEncoder } from './encode-stream.ts'

const check = createWireCheck('OpenAICompletion')
const head = { id: 'cmpl-1', createdSeconds: 1_700_000_000, model: 'm', systemFingerprint: 'dragoman-1' }
const plainStyle: ReplyStyle = { echoes: [''], choicesPerPrompt: 1, logprobs: false }
const usage = { inputTokens: 7, cachedInputTokens: 3, outputTokens: 5, reasoningTokens: 0 }
const wireUsage = {
  prompt_tokens: 7,
  completion_tokens: 5,
  total_tokens: 12,
  prompt_tokens_details: { cached_tokens: 3 },
  completion_tokens_details: { reasoning_tokens: 0 },
}

function token(bytes: string | readonly number[], logprob = -1, top: readonly GeneratedToken[] = []): GeneratedToken {
  const list = typeof bytes === 'string' ? [...Buffer.from(bytes)] : bytes
  return { id: 1, text: Buffer.from(list).toString(), bytes: list, logprob, top }
}

/** A token of a prompt; without a score, as the first one has none. */
function given(bytes: string | readonly number[], logprob?: number): PromptToken {
  const { logprob: _, ...shown } = token(bytes, 0, [])
  return logprob === undefined ? shown : { ...shown, logprob, top: [token(bytes, logprob)] }
}

function choice(text: string, more: Partial<Choice> = {}): Choice {
  return { parts: [said(text)], tokens: [], finish: { reason: 'stop' }, ...more }
}

/** Every reply of this file is checked against OpenAI's schema, strictly. */
function reply(choices: readonly Choice[], style: Partial<ReplyStyle> = {}): unknown {
  const start = { type: 'start', model: 'm', warnings: [] } as const
  const result: GenerationResult = { start, choices, usage, timings: {} }
  const encoded: unknown = JSON.parse(JSON.stringify(encodeResult(result, head, { ...plainStyle, ...style })))
  check(encoded)
  return encoded
}

type Frame = { choices: { index: number; text: string; logprobs: unknown; finish_reason: string | null }[] }

function framesOf(events: readonly GenerationEvent[], style: Partial<ReplyStyle> = {}, includeUsage = false): unknown[] {
  const encoder = createChunkEncoder(() => head, { ...plainStyle, ...style, includeUsage })
  const frames = [{ type: 'start', model: 'm', warnings: [] } as const, ...events].map((event) => encoder.encode(event)).join('')
  return frames
    .split('\n\n')
    .slice(0, -1)
    .map((frame) => {
      const data = frame.slice('data: '.length)
      if (data === '[DONE]') return data
      const chunk: unknown = JSON.parse(data)
      if (!Object.hasOwn(chunk as object, 'error')) check(chunk)
      return chunk
    })
}

const choicesOf = (frames: readonly unknown[]) => frames.flatMap((frame) => (frame as Frame).choices)
const text = (delta: string, index = 0, tokens?: readonly GeneratedToken[]): GenerationEvent => ({
  type: 'text-delta',
  choice: index,
  delta,
  ...(tokens !== undefined && { tokens }),
})
const finish = (index = 0): GenerationEvent => ({ type: 'finish', choice: index, reason: 'length' })

describe('a whole reply', () => {
  test('has every key, the empty ones as null', () => {
    expect(reply([choice(' upon a time')])).toEqual({
      id: 'cmpl-1',
      object: 'text_completion',
      created: 1_700_000_000,
      model: 'm',
      system_fingerprint: 'dragoman-1',
      choices: [{ index: 0, text: ' upon a time', logprobs: null, finish_reason: 'stop' }],
      usage: wireUsage,
      timings: encodeTimings({ usage, timings: {} }),
    })
  })

  test('is all that was generated, in its order: reasoning and refusals are part of a text that is merely continued', () => {
    const parts = [reasoning('<hm>'), said('a'), reasoning('<oh>'), said('b'), refusal('no')]
    expect(reply([choice('', { parts })])).toMatchObject({ choices: [{ text: '<hm>a<oh>bno' }] })
  })

  test.each(incompleteReasons)('never says stop of an answer that is not complete: %s', (reason) => {
    const [whole] = (reply([choice('a', { finish: { reason } })]) as Frame).choices
    const [chunk] = choicesOf(framesOf([{ type: 'finish', choice: 0, reason }]))
    expect(whole?.finish_reason).toMatch(/^(?!stop$)\w+$/)
    expect(chunk?.finish_reason).toBe(whole?.finish_reason)
  })

  test('echoes the prompt of each choice', () => {
    const style = { echoes: ['a: ', 'b: '], choicesPerPrompt: 2 }
    expect(
      reply(
        ['1', '2', '3', '4'].map((answer) => choice(answer)),
        style,
      ),
    ).toMatchObject({
      choices: [{ text: 'a: 1' }, { text: 'a: 2' }, { text: 'b: 3' }, { text: 'b: 4' }],
    })
  })

  test('tells each token once, with where it begins in characters', () => {
    const tokens = [token('é', -0.5, [token('é', -0.5), token('e', -2)]), token([0xf0, 0x9f]), token([0x98, 0x80]), token('!')]
    expect(reply([choice('é😀!', { tokens })], { logprobs: true })).toMatchObject({
      choices: [
        {
          logprobs: {
            tokens: ['é', 'bytes:\\xf0\\x9f', 'bytes:\\x98\\x80', '!'],
            token_logprobs: [-0.5, -1, -1, -1],
            top_logprobs: [{ é: -0.5, e: -2 }, { 'bytes:\\xf0\\x9f': -1 }, { 'bytes:\\x98\\x80': -1 }, { '!': -1 }],
            text_offset: [0, 1, 1, 2],
          },
        },
      ],
    })
  })

  test('says what is impossible as a number, and keeps every name apart from what objects have', () => {
    const tokens = [token('a', Number.NEGATIVE_INFINITY, [token('__proto__', -3), token('constructor', -4)])]
    const [told] = (reply([choice('a', { tokens })], { logprobs: true }) as Frame).choices
    expect(told?.logprobs).toMatchObject({ token_logprobs: [-9999] })
    const [top] = (told?.logprobs as { top_logprobs?: object[] } | undefined)?.top_logprobs ?? []
    expect(Object.entries(top ?? {})).toEqual([
      ['__proto__', -3],
      ['constructor', -4],
      ['a', -9999],
    ])
  })
})

describe('an echo by tokens', () => {
  const style = { logprobs: true, choicesPerPrompt: 2, echoes: ['', ''] }
  const prompts = [[given(''), given('é', -1), given([0xf0, 0x9f], -2), given([0x98, 0x80], -3)], [given('b')]]
  const answers = ['1', '2', '3', '4'].map((text) => ({ text, tokens: [token(text, -5)] }))
  const told = (offsets: readonly number[], tokens: readonly string[], scores: readonly (number | null)[]) => ({
    tokens,
    token_logprobs: scores,
    top_logprobs: tokens.map((name, index) => (scores[index] === null ? null : { [name]: scores[index] })),
    text_offset: offsets,
  })
  const halves = ['bytes:\\xf0\\x9f', 'bytes:\\x98\\x80']
  const first = (answer: string) => told([0, 0, 1, 1, 2], ['', 'é', ...halves, answer], [null, -1, -2, -3, -5])
  const second = (answer: string) => told([0, 1], ['b', answer], [null, -5])

  test('begins every choice of its prompt, the first token without a log-probability', () => {
    const choices = answers.map(({ text, tokens }, index) => {
      const prompt = index % 2 === 0 ? prompts[index / 2] : undefined
      return choice(text, { tokens, ...(prompt !== undefined && { promptTokens: prompt }) })
    })
    expect(reply(choices, style)).toMatchObject({
      choices: [
        { text: 'é😀1', logprobs: first('1') },
        { text: 'é😀2', logprobs: first('2') },
        { text: 'b3', logprobs: second('3') },
        { text: 'b4', logprobs: second('4') },
      ],
    })
    expect(reply(choices, { ...style, logprobs: false })).toMatchObject({
      choices: [{ text: 'é😀1', logprobs: null }, {}, {}, {}],
    })
  })

  test('counts a character once that begins in the prompt and ends in each choice', () => {
    const prompt = [given('é'), given([0xf0, 0x9f], -1), given('', -1), given('', -1), given('', -1)]
    const tokens = [token([0x98, 0x80]), token('!')]
    const choices = [choice('!', { tokens, promptTokens: prompt }), choice('!', { tokens })]
    expect((reply(choices, style) as Frame).choices.map(({ logprobs }) => logprobs)).toEqual(
      [0, 1].map(() => expect.objectContaining({ text_offset: [0, 1, 1, 1, 1, 1, 2] })),
    )
  })

  test('is streamed as it is read, in as many pieces as it comes', () => {
    const events: GenerationEvent[] = prompts.flatMap((prompt, index) => [
      ...prompt.map((part) => ({ type: 'prompt-tokens', choice: 2 * index, promptTokens: [part] }) as const),
      text(answers[2 * index]?.text ?? '', 2 * index, answers[2 * index]?.tokens),
      text(answers[2 * index + 1]?.text ?? '', 2 * index + 1, answers[2 * index + 1]?.tokens),
    ])
    const chunks = choicesOf(framesOf(events, style))
    for (const [index, expected] of ['é😀1', 'é😀2', 'b3', 'b4'].entries()) {
      const mine = chunks.filter((chunk) => chunk.index === index)
      expect(mine.map((chunk) => chunk.text).join('')).toBe(expected)
      const scores = mine.map((chunk) => chunk.logprobs as ReturnType<typeof told>)
      const whole = index < 2 ? first(String(index + 1)) : second(String(index + 1))
      expect({
        tokens: scores.flatMap(({ tokens }) => tokens),
        token_logprobs: scores.flatMap(({ token_logprobs: values }) => values),
        top_logprobs: scores.flatMap(({ top_logprobs: values }) => values),
        text_offset: scores.flatMap(({ text_offset: values }) => values),
      }).toEqual(whole)
    }
  })
})

describe('a stream', () => {
  test('is text, finish and the end, in the shape of the whole reply', () => {
    const frames = framesOf([
      { type: 'prompt-read', inputTokens: 7, cachedInputTokens: 3 },
      { type: 'text-start', choice: 0 },
      text('Hel'),
      text('lo\u2028'),
      { type: 'text-end', choice: 0 },
      finish(),
      { type: 'usage', usage, timings: {} },
    ])
    expect(frames.at(-1)).toBe('[DONE]')
    expect(frames[0]).toEqual({
      id: 'cmpl-1',
      object: 'text_completion',
      created: 1_700_000_000,
      model: 'm',
      system_fingerprint: 'dragoman-1',
      choices: [{ index: 0, text: 'Hel', logprobs: null, finish_reason: null }],
      usage: null,
    })
    expect(choicesOf(frames.slice(0, -1)).map((item) => [item.text, item.finish_reason])).toEqual([
      ['Hel', null],
      ['lo\u2028', null],
      ['', 'length'],
    ])
  })

  test('ends with its usage when that was asked for', () => {
    const frames = framesOf([text('a'), finish(), { type: 'usage', usage, timings: {} }], {}, true)
    expect(frames.slice(0, 2)).toEqual([expect.objectContaining({ usage: null }), expect.objectContaining({ usage: null })])
    expect(frames.at(-2)).toMatchObject({ choices: [], usage: wireUsage })
  })

  test('begins each choice with its echo, also one without text', () => {
    const style = { echoes: ['a: ', 'b: '], choicesPerPrompt: 1 }
    const told = choicesOf(framesOf([text('1'), text('2'), finish(), finish(1)], style))
    expect(told.map((item) => [item.index, item.text])).toEqual([
      [0, 'a: 1'],
      [0, '2'],
      [0, ''],
      [1, 'b: '],
    ])
  })

  test('tells each token once, on the chunk of its text or the next', () => {
    const hidden = { type: 'tool-call-start', choice: 0, id: 'c', name: 'f', tokens: [token('b')] } as const
    const told = choicesOf(
      framesOf([text('a', 0, [token('a')]), text('x', 1), hidden, finish()], { logprobs: true, choicesPerPrompt: 2 }),
    )
    expect(told.map(({ logprobs }) => logprobs)).toEqual([
      expect.objectContaining({ tokens: ['a'], text_offset: [0] }),
      null,
      expect.objectContaining({ tokens: ['b'], text_offset: [1] }),
    ])
  })

  test('offsets count the echo', () => {
    const told = choicesOf(framesOf([text('a', 0, [token('a')])], { echoes: ['😀b'], logprobs: true }))
    expect(told[0]?.logprobs).toMatchObject({ text_offset: [2] })
  })

  test('a failure is one error frame and then the end', () => {
    const error = new AppError('engine-failed', 'the engine stopped')
    expect(framesOf([text('a'), { type: 'error', error }]).slice(1)).toEqual([
      { error: { message: 'the engine stopped', type: 'server_error', param: null, code: 'engine_failed' } },
      '[DONE]',
    ])
  })
})

test('reasoning is where it came in, in a whole reply as in a stream', async () => {
  const reasoning = (delta: string): GenerationEvent => ({ type: 'reasoning-delta', choice: 0, delta })
  const end: GenerationEvent = { type: 'usage', usage, timings: {} }
  const events = [reasoning('a'), text('B'), reasoning('c'), text('D'), text('E'), finish(), end]
  const result = await foldEvents({
    run: async (emit) => {
      await emit({ type: 'start', model: 'm', warnings: [] })
      for (const event of events) await emit(event)
    },
  })
  expect(choicesOf([encodeResult(result, head, plainStyle)])).toMatchObject([{ text: 'aBcDE' }])
  expect(
    choicesOf(framesOf(events.slice(0, -1)))
      .map((one) => one.text)
      .join(''),
  ).toBe('aBcDE')
})
