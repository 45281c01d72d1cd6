import { describe, expect, test } from 'vitest'
import { decodeNow } from '../../../test/support/decode-now.ts'
import { createWireCheck } from '../../../test/support/wire-schema.ts'
import { type Emit, inTurn } from '../../base/emit.ts'
import { AppError } from '../../contract/errors.ts'
import type { GenerationEvent } from '../../contract/event.ts'
import { foldEvents } from '../../contract/result.ts'
import { createOpenaiChat } from './dialect.ts'

const openaiChat = createOpenaiChat({ reasoningFields: 'both', systemFingerprint: 'dragoman-1' })

const checkReply = createWireCheck('OpenAIChatCompletion')
const checkChunk = createWireCheck('OpenAIChatCompletionChunk')
const body = { model: 'alias', messages: [{ role: 'user', content: 'hi' }] }
const events: readonly GenerationEvent[] = [
  { type: 'start', model: 'served', warnings: [] },
  { type: 'text-delta', choice: 0, delta: 'Hello' },
  { type: 'finish', choice: 0, reason: 'length' },
  { type: 'usage', usage: { inputTokens: 1, cachedInputTokens: 0, outputTokens: 2, reasoningTokens: 0 }, timings: {} },
]

function generationOf(all: readonly GenerationEvent[]) {
  return { run: async (emit: Emit<GenerationEvent>) => inTurn(all, emit) }
}

describe('openaiChat', () => {
  test('ids are unique and OpenAI-shaped', () => {
    const ids = Array.from({ length: 100 }, () => openaiChat.createId())
    expect(new Set(ids).size).toBe(100)
    for (const id of ids) expect(id).toMatch(/^chatcmpl-[0-9a-f]{32}$/)
  })

  test('a reply has the id of the request, the model that served it and the time', async () => {
    const beforeSeconds = Math.floor(Date.now() / 1000)
    const call = decodeNow(openaiChat, body, 'chatcmpl-7')
    const reply = call.encodeResult(await foldEvents(generationOf(events)))
    checkReply(reply)
    expect(reply).toMatchObject({
      id: 'chatcmpl-7',
      model: 'served',
      choices: [{ message: { content: 'Hello' }, finish_reason: 'length' }],
    })
    expect((reply as { created: number }).created).toBeGreaterThanOrEqual(beforeSeconds)
  })

  test('a stream says the same as the whole reply, with constant head fields', () => {
    const call = decodeNow(openaiChat, { ...body, stream: true, stream_options: { include_usage: true } }, 'chatcmpl-7')
    const encoder = call.createStreamEncoder()
    const frames = events
      .map((event) => encoder.encode(event))
      .join('')
      .split('\n\n')
    const chunks = frames.filter((frame) => frame.startsWith('data: {')).map((frame) => JSON.parse(frame.slice('data: '.length)))
    for (const chunk of chunks) {
      checkChunk(chunk)
      expect(chunk).toMatchObject({
        id: 'chatcmpl-7',
        model: 'served',
        created: chunks[0].created,
        system_fingerprint: chunks[0].system_fingerprint,
      })
    }
    expect(frames.at(-2)).toBe('data: [DONE]')
  })

  test.each<[object, string[]]>([
    [{}, ['reasoning']],
    [{ include_reasoning: false }, []],
  ])('the operator chooses the names of reasoning, and %j whether there is any', async (fields, names) => {
    const dialect = createOpenaiChat({ reasoningFields: 'reasoning', systemFingerprint: 'dragoman-1' })
    const [start, ...rest] = events
    const reasoned = [start, { type: 'reasoning-delta', choice: 0, delta: 'hm' }, ...rest] as readonly GenerationEvent[]
    const call = decodeNow(dialect, { ...body, ...fields }, 'chatcmpl-7')
    const reply = call.encodeResult(await foldEvents(generationOf(reasoned))) as { choices: { message: object }[] }
    expect(Object.keys(reply.choices[0]?.message ?? {}).filter((name) => name.startsWith('reasoning'))).toEqual(names)
  })

  test('two streams of one call do not share state', () => {
    const call = decodeNow(openaiChat, { ...body, stream: true }, 'chatcmpl-7')
    const [first, second] = [call.createStreamEncoder(), call.createStreamEncoder()]
    for (const event of events) expect(first.encode(event)).toBe(second.encode(event))
    expect(first.encode({ type: 'start', model: 'other', warnings: [] })).toBe('')
    expect(second.encode({ type: 'text-delta', choice: 0, delta: 'a' })).toContain('"model":"served"')
  })

  test('an error reply is the envelope of OpenAI', () => {
    expect(openaiChat.encodeError(new AppError('model-not-found', "model 'x' not found"))).toEqual({
      status: 404,
      body: { error: { message: "model 'x' not found", type: 'invalid_request_error', param: null, code: 'model_not_found' } },
    })
  })

  test('the heartbeat is a comment', () => {
    expect(openaiChat.heartbeat).toMatch(/^:.*\n\n$/)
  })
})
