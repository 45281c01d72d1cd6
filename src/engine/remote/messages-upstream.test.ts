import { describe, expect, onTestFinished, test } from 'vitest'
import { assistant, call, text, textsOf } from '../../../test/support/parts.ts'
import { listenOnLoopback } from '../../../test/support/upstream/loopback.ts'
import {
  blockOf,
  callBlock,
  messageEnd,
  messageOf,
  messageStart,
  messagesEvent,
  textBlock,
} from '../../../test/support/upstream/messages-stream.ts'
import {
  answer,
  ask,
  engineOver,
  eventsOf,
  failure,
  never,
  refusing,
  upstream,
} from '../../../test/support/upstream/remote-engine.ts'
import { type Answer, cutsOf, openStream, streamOf } from '../../../test/support/upstream/upstream.ts'
import { type GenerationRequest, plainChat, type Tool } from '../../contract/request.ts'

const tools: readonly Tool[] = ['f', 'g'].map((name) => ({ name, parameters: { type: 'object' } }))

/** An engine over one server that has nothing but Messages. */
async function engineFor(reply: Answer) {
  const server = await upstream(reply)
  return { server, engine: engineOver([server], { protocol: 'messages' }) }
}

async function answerTo(reply: Answer, options: Partial<GenerationRequest> = {}) {
  const { engine } = await engineFor(reply)
  return answer(engine, ask('hi', options, tools))
}

describe('a reply of Messages', () => {
  test('a reply of Messages keeps the order of its parts, and what the server signed', async () => {
    const { choices, usage } = await answerTo(
      streamOf(
        messageStart,
        messagesEvent('ping'),
        blockOf(0, { type: 'thinking', thinking: '', signature: '' }, [
          { type: 'thinking_delta', thinking: 'hm' },
          { type: 'signature_delta', signature: 's1' },
        ]),
        blockOf(1, { type: 'redacted_thinking', data: 'd2' }, []),
        textBlock(2, 'One ', 'moment.'),
        callBlock(3, 'c1', 'f', '{"a"', ': 1}'),
        textBlock(4, 'And'),
        callBlock(5, 'c2', 'g'),
        messageEnd('tool_use', {
          input_tokens: 3,
          cache_read_input_tokens: 10,
          cache_creation_input_tokens: 2,
          output_tokens: 9,
          output_tokens_details: { thinking_tokens: 4 },
        }),
      ),
    )
    expect(choices).toEqual([
      {
        tokens: [],
        finish: { reason: 'tool-calls' },
        parts: [
          { type: 'reasoning', text: 'hm', opaque: 'signature:s1' },
          { type: 'reasoning', text: '', opaque: 'redacted:d2' },
          { type: 'text', text: 'One moment.' },
          { type: 'tool-call', id: 'c1', name: 'f', input: '{"a": 1}' },
          { type: 'text', text: 'And' },
          { type: 'tool-call', id: 'c2', name: 'g', input: '{}' },
        ],
      },
    ])
    expect(usage).toEqual({ inputTokens: 15, cachedInputTokens: 10, outputTokens: 9, reasoningTokens: 4 })
  })

  test('a call ends before the text after it begins', async () => {
    const { engine } = await engineFor(messageOf(callBlock(0, 'c1', 'f', '{}'), textBlock(1, 'so')))
    const types: string[] = []
    for await (const event of eventsOf(engine, ask('hi', {}, tools))) types.push(event.type)
    expect(types).toEqual([
      'start',
      'prompt-read',
      'tool-call-start',
      'tool-call-delta',
      'tool-call-end',
      'text-start',
      'text-delta',
      'text-end',
      'finish',
      'usage',
    ])
  })

  test('a reply of Messages is read when the server does not stream', async () => {
    const content = [
      { type: 'thinking', thinking: 'hm', signature: 's' },
      { type: 'text', text: 'Hello', citations: [{ type: 'web_search_result_location', url: 'http://a', title: 'A' }] },
      { type: 'tool_use', id: 'c1', name: 'f', input: { a: 1 } },
    ]
    const usage = { input_tokens: 7, output_tokens: 3 }
    const reply = JSON.stringify({ type: 'message', role: 'assistant', content, stop_reason: 'tool_use', usage })
    const { choices } = await answerTo(refusing(200, reply))
    expect(choices[0]?.parts).toEqual([
      { type: 'reasoning', text: 'hm', opaque: 'signature:s' },
      { type: 'text', text: 'Hello', annotations: [{ type: 'url-citation', url: 'http://a', title: 'A' }] },
      { type: 'tool-call', id: 'c1', name: 'f', input: '{"a":1}' },
    ])
    expect(choices[0]?.finish).toEqual({ reason: 'tool-calls' })
  })

  test.each([
    ['end_turn', { reason: 'stop' }],
    ['max_tokens', { reason: 'length' }],
    ['refusal', { reason: 'refusal' }],
    ['pause_turn', { reason: 'paused' }],
    ['model_context_window_exceeded', { reason: 'context-full' }],
    ['something_new', { reason: 'stop', rawReason: 'something_new' }],
  ])('its stop reason %s has a meaning here', async (word, finish) => {
    const { choices } = await answerTo(streamOf(messageStart, textBlock(0, 'a'), messageEnd(word)))
    expect(choices[0]?.finish).toEqual(finish)
  })

  test('a reply of Messages reports the stop sequence that ended it', async () => {
    const reply = streamOf(messageStart, textBlock(0, 'a'), messageEnd('stop_sequence', { output_tokens: 1 }, 'END'))
    expect((await answerTo(reply, { stop: ['END'] })).choices[0]?.finish).toEqual({ reason: 'stop', stopSequence: 'END' })
  })

  test('arguments that open with an empty object are kept', async () => {
    const { choices } = await answerTo(messageOf(callBlock(0, 'c1', 'f', '{}', '{"a":', '1}'), callBlock(1, 'c2', 'g', '{}')))
    expect(choices[0]?.parts).toEqual([call('c1', 'f', '{"a":1}'), call('c2', 'g', '{}')])
  })

  test('events and blocks of unknown types are skipped', async () => {
    const search = blockOf(0, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }, [
      { type: 'input_json_delta', partial_json: '{"q":1}' },
    ])
    const result = await answerTo(messageOf(messagesEvent('news', { a: 1 }), search, textBlock(1, 'ok')))
    expect(textsOf(result)).toEqual(['ok'])
  })

  test('several choices are several requests', async () => {
    const { server, engine } = await engineFor(messageOf(textBlock(0, 'ok')))
    expect(textsOf(await answer(engine, ask('hi', { choices: 3 })))).toEqual(['ok', 'ok', 'ok'])
    expect(server.seen.map(({ path }) => path)).toEqual(['/v1/messages', '/v1/messages', '/v1/messages'])
  })
})

describe('a request of Messages', () => {
  test('the request keeps the digits of large numbers in the input of a call', async () => {
    let body = ''
    const { origin, close } = await listenOnLoopback(async (request, response) => {
      if (request.method === 'GET') return void response.end('{"data":[{"id":"m"}]}')
      for await (const bytes of request) body += bytes
      return messageOf(textBlock(0, 'ok'))({ method: 'POST', path: '', body: {} }, response)
    })
    onTestFinished(close)
    const engine = engineOver([], { protocol: 'messages', endpoints: [{ url: `${origin}/v1`, weight: 1 }] })
    const input = '{"id":12345678901234567890}'
    const result = { role: 'tool', toolCallId: 'c1', content: [text('ok')] } as const
    const messages = [{ role: 'user', content: [text('hi')] } as const, assistant(call('c1', 'f', input)), result]
    await answer(engine, ask('', { prompt: { type: 'chat', ...plainChat, messages } }))
    expect(body).toContain(`"input":${input}`)
  })

  test('the request is counted by the server', async () => {
    const { server, engine } = await engineFor(refusing(200, '{"input_tokens":42}'))
    const prompt = { type: 'chat', ...plainChat, messages: [{ role: 'user', content: [text('hi')] }] } as const
    const request = { prompt, reasoning: {}, addBos: true, parseSpecial: true }
    expect(await engine.capabilities.tokenizer?.count(request, never)).toBe(42)
    expect(server.seen[0]).toMatchObject({ path: '/v1/messages/count_tokens', body: { messages: [{ content: 'hi' }] } })
    expect(server.seen[0]?.body).not.toHaveProperty('max_tokens')
  })

  test('the request cannot be a plain text', async () => {
    const { engine } = await engineFor(messageOf(textBlock(0, 'ok')))
    const error = await failure(engine, { ...ask(''), prompt: { type: 'text', text: 'Once' } })
    expect(error).toMatchObject({ code: 'unsupported-field', at: ['prompt'] })
  })
})

describe('a failure of Messages', () => {
  const envelope = (type: string, message: string) => JSON.stringify({ type: 'error', error: { type, message } })

  test.each([
    [400, 'invalid_request_error', 'prompt is too long: 9 tokens > 8 maximum', 'context-length-exceeded'],
    [
      400,
      'invalid_request_error',
      'input length and `max_tokens` exceed context limit: 5 + 4 > 8, decrease',
      'context-length-exceeded',
    ],
    [400, 'invalid_request_error', 'temperature: range 0..1', 'invalid-request'],
    [401, 'authentication_error', 'invalid x-api-key', 'model-unavailable'],
    [404, 'not_found_error', 'model: up', 'model-unavailable'],
    [413, 'request_too_large', 'Request exceeds the maximum size', 'body-too-large'],
  ])('status %i, %s, "%s" is %s', async (status, type, words, code) => {
    const { engine } = await engineFor(refusing(status, envelope(type, words)))
    expect(await failure(engine)).toMatchObject({ code })
  })

  test.each([
    [429, 'rate_limit_error', 'queue-full'],
    [529, 'overloaded_error', 'model-unavailable'],
  ])('status %i, %s, is %s with the time that the server asks for', async (status, type, code) => {
    const { engine } = await engineFor(refusing(status, envelope(type, 'busy'), { 'retry-after': '3600' }))
    expect(await failure(engine)).toMatchObject({ code, retryAfterMs: 3_600_000 })
  })

  test.each([
    ['overloaded_error', 'model-unavailable'],
    ['rate_limit_error', 'queue-full'],
    ['invalid_request_error', 'invalid-request'],
    ['api_error', 'upstream-failed'],
  ])('an event with the error %s is that error', async (type, code) => {
    const event = `event: error\ndata: ${envelope(type, 'no luck')}\n\n`
    const { engine } = await engineFor(streamOf(messageStart, event))
    expect(await failure(engine)).toMatchObject({ code, message: expect.stringContaining('no luck') })
  })

  test('one in mid-stream is never a clean end', async () => {
    const { engine } = await engineFor(
      streamOf(messageStart, callBlock(0, 'c', 'f', '{}'), `event: error\ndata: ${envelope('api_error', 'oops')}\n\n`),
    )
    const types: string[] = []
    for await (const event of eventsOf(engine, ask('hi', {}, tools))) types.push(event.type)
    expect(types).not.toContain('finish')
    expect(types.at(-1)).toBe('error')
  })

  test('a stream that is cut at any byte is a clean stop only when its stop reason had come', async () => {
    const call = callBlock(0, 'c1', 'f', '{"a": "ü"}')
    const whole = Buffer.from(messageStart + call + messageEnd('tool_use'))
    const finishEndsAt = whole.length - Buffer.byteLength(messagesEvent('message_stop'))
    const { server, engine } = await engineFor(messageOf())
    const readCut = async (length: number): Promise<boolean> => {
      server.answer = (_, response) => {
        openStream(response)
        response.end(whole.subarray(0, length))
      }
      return answer(engine, ask('hi', {}, tools)).then(
        () => true,
        () => false,
      )
    }
    for (const length of cutsOf(whole, finishEndsAt)) {
      expect({ length, isComplete: await readCut(length) }).toEqual({ length, isComplete: length >= finishEndsAt })
    }
  })

  test.each([
    ['no JSON', 'data: {oops\n\n'],
    ['no object', 'data: null\n\n'],
    [
      'blocks without end',
      Array.from({ length: 200 }, (_, index) =>
        messagesEvent('content_block_start', { index, content_block: { type: 'text', text: '' } }),
      ).join(''),
    ],
  ])('%s is a failure of the server', async (_, garbage) => {
    const { engine } = await engineFor(streamOf(messageStart, garbage))
    expect(await failure(engine)).toMatchObject({ code: 'upstream-failed' })
  })

  test('a signature without end is a failure of the server', async () => {
    const open = messagesEvent('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '' } })
    const delta = messagesEvent('content_block_delta', {
      index: 0,
      delta: { type: 'signature_delta', signature: 'x'.repeat(1024 * 1024) },
    })
    const { engine } = await engineFor(streamOf(messageStart, open, ...Array.from({ length: 20 }, () => delta)))
    expect(await failure(engine)).toMatchObject({ code: 'upstream-failed', message: expect.stringContaining('signature') })
  })

  test('an event of 15 MB comes through', async () => {
    const long = 'x'.repeat(15 * 1024 * 1024)
    const [text] = textsOf(await answerTo(messageOf(textBlock(0, long, '!'))))
    expect(text).toHaveLength(long.length + 1)
    expect(text?.endsWith('x!')).toBe(true)
  })
})

describe('a reply of Messages that breaks off', () => {
  test('a broken reply is continued after its text', async () => {
    const breaking: Answer = (_, response) => {
      openStream(response)
      const open = messagesEvent('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })
      const delta = messagesEvent('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'One ' } })
      response.write(messageStart + open + delta, () => response.destroy())
    }
    const first = await upstream(breaking)
    const second = await upstream(breaking)
    const engine = engineOver([first, second], { protocol: 'messages' })
    first.answer = (request, response) => {
      const isContinuation = JSON.stringify(request.body.messages).includes('One ')
      return (isContinuation ? messageOf(textBlock(0, 'two')) : breaking)(request, response)
    }
    second.answer = first.answer
    expect(textsOf(await answer(engine, ask('hi')))).toEqual(['One two'])
    const continued = [...first.seen, ...second.seen].find(({ body }) => JSON.stringify(body).includes('One '))
    expect(continued?.body.messages).toEqual([
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'One ' },
    ])
  })
})
