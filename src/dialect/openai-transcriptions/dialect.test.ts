import { describe, expect, test } from 'vitest'
import { wav } from '../../../test/support/pictures.ts'
import type { DecodedCall } from '../../contract/dialect.ts'
import type { FinishReason, GenerationEvent, StartEvent } from '../../contract/event.ts'
import { createOpenaiTranscriptions } from './dialect.ts'

const file = (seconds = 1) => ({ name: 'file', filename: 'a.wav', mediaType: 'audio/wav', bytes: wav(seconds) })
const decode = (fields: object = {}, { seconds = 1, task = 'transcribe' as 'transcribe' | 'translate' } = {}) =>
  createOpenaiTranscriptions(task).decode(
    { body: { model: 'm', file: file(seconds), ...fields }, headers: {} },
    { id: 'transcript-1' },
  ) as DecodedCall
const start: StartEvent = { type: 'start', model: 'm', warnings: [] }
const usage = { inputTokens: 7, cachedInputTokens: 2, outputTokens: 3, reasoningTokens: 0 }
const spent = {
  type: 'tokens',
  input_tokens: 7,
  input_token_details: { cached_tokens: 2 },
  output_tokens: 3,
  total_tokens: 10,
}
const said = (...texts: readonly string[]) => texts.map((text) => choice(text))
const choice = (text: string, reason: FinishReason = 'stop') => ({
  parts: [{ type: 'text' as const, text }],
  tokens: [],
  finish: { reason },
})
const resultOf = (call: DecodedCall, choices: readonly ReturnType<typeof choice>[]) =>
  call.encodeResult({ start, choices, usage, timings: {} })

describe('a request', () => {
  test('asks a model to write down the sound, greedily and without reasoning', () => {
    const [request, ...others] = decode().requests
    expect(others).toEqual([])
    expect(request).toMatchObject({ id: 'transcript-1', model: 'm', sampling: { temperature: 0 }, reasoning: { enabled: false } })
    const [message] = request.prompt.type === 'chat' ? request.prompt.messages : []
    expect(message).toMatchObject({
      role: 'user',
      content: [
        { type: 'text', text: 'Transcribe audio to text' },
        { type: 'media', kind: 'audio', source: { type: 'base64', base64: wav(1).toString('base64'), mediaType: 'audio/wav' } },
      ],
    })
  })

  test.each([
    [{ language: 'de' }, {}, 'Transcribe audio to text (language: de)'],
    [{ prompt: 'Names: Grimaud.' }, {}, 'Transcribe audio to text\nNames: Grimaud.'],
    [{}, { task: 'translate' as const }, 'Translate the speech in the audio to English text'],
  ])('says %j to the model', (fields, options, text) => {
    expect(JSON.stringify(decode(fields, options).requests[0].prompt)).toContain(JSON.stringify(text))
  })

  test('for a long recording is one for each piece', () => {
    const { requests } = decode({}, { seconds: 65 })
    expect(requests.map(({ id }) => id)).toEqual(['transcript-1', 'transcript-1-1', 'transcript-1-2'])
  })

  test.each([
    ['response_format', { response_format: 'srt' }, 'does not measure'],
    ['response_format', { response_format: 'vtt' }, 'does not measure'],
    ['timestamp_granularities[]', { 'timestamp_granularities[]': 'word' }, 'measures no times'],
    ['include[]', { 'include[]': 'logprobs' }, 'log-probabilities'],
    ['stream', { stream: 'true', response_format: 'verbose_json' }, 'verbose_json'],
    ['temperature', { temperature: 'warm' }, 'a number from 0 to 2'],
    ['max_tokens', { max_tokens: '5' }, 'lacks its end'],
  ])('names %s where it cannot be served', (param, fields, why) => {
    expect(() => decode(fields)).toThrow(expect.objectContaining({ param, message: expect.stringContaining(why) }))
  })

  test('reports unknown fields, and names the file for what is wrong with the sound', () => {
    const { ignored, nameOf } = decode({ colour: 'red' })
    expect(ignored).toEqual(['colour'])
    expect(nameOf(['prompt', 'messages', 0, 'content', 1])).toBe('file')
    expect(nameOf(['model'])).toBe('model')
  })
})

describe('a reply', () => {
  test('is JSON with the texts of all pieces, apart by one space', () => {
    expect(resultOf(decode(), said(' Good morning. ', '\nIt rains.', ''))).toEqual({
      text: 'Good morning. It rains.',
      usage: spent,
    })
  })

  test('is plain text, or what is known of the recording', () => {
    const plain = decode({ response_format: 'text' })
    expect(plain.resultType).toBe('text/plain; charset=utf-8')
    expect(resultOf(plain, said('Good morning.'))).toBe('Good morning.\n')
    expect(resultOf(decode({ response_format: 'verbose_json', language: 'en' }), said('Good morning.'))).toEqual({
      task: 'transcribe',
      language: 'en',
      duration: 1,
      text: 'Good morning.',
      usage: spent,
    })
  })

  test('that lacks its end is an error', () => {
    const result = () => resultOf(decode({}, { seconds: 40 }), [choice('Good'), choice('morn', 'context-full')])
    expect(result).toThrow(/part 2 of 2 of the transcript was cut \(context-full\)/)
  })

  test('is streamed in the order of the pieces, whichever is heard first', () => {
    const encoder = decode({ stream: 'true' }, { seconds: 65 }).createStreamEncoder()
    const delta = (choice: number, text: string): GenerationEvent => ({ type: 'text-delta', choice, delta: text })
    const end = (choice: number): GenerationEvent => ({ type: 'finish', choice, reason: 'stop' })
    const events: readonly GenerationEvent[] = [
      start,
      delta(0, ' Good'),
      delta(2, 'It is'),
      delta(2, ' cold.'),
      end(2),
      delta(0, ' morning.'),
      end(0),
      delta(1, 'It '),
      delta(1, 'rains.'),
      end(1),
      { type: 'usage', usage, timings: {} },
    ]
    const frames = events.map((event) => encoder.encode(event)).join('')
    const sent = frames
      .trim()
      .split('\n\n')
      .map((frame) => JSON.parse(frame.slice('data: '.length)))
    const deltas = sent.slice(0, -1)
    expect(deltas.every(({ type }) => type === 'transcript.text.delta')).toBe(true)
    const text = 'Good morning. It rains. It is cold.'
    expect(deltas.map((frame) => frame.delta).join('')).toBe(text)
    expect(sent.at(-1)).toEqual({ type: 'transcript.text.done', text, usage: spent })
  })
})
