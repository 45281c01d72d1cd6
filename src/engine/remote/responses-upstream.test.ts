import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { callsIn, textsOf } from '../../../test/support/parts.ts'
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
import {
  callItem,
  itemOf,
  messageItem,
  responseEnd,
  responseOf,
  responsesEvent,
} from '../../../test/support/upstream/responses-stream.ts'
import { type Answer, cutsOf, openStream, streamOf } from '../../../test/support/upstream/upstream.ts'
import { outputOf } from '../../canonical/parts.ts'
import type { GenerationRequest, Tool } from '../../contract/request.ts'

const tools: readonly Tool[] = ['f', 'g', 'write_sql'].map((name) => ({ name, parameters: { type: 'object' } }))
const recordings = new URL('../../../../shared/vectors/recordings/openai/', import.meta.url)

/** An engine over one server that has nothing but Responses. */
async function engineFor(reply: Answer) {
  const server = await upstream(reply)
  return { server, engine: engineOver([server], { protocol: 'responses' }) }
}

async function answerTo(reply: Answer, options: Partial<GenerationRequest> = {}) {
  const { engine } = await engineFor(reply)
  return answer(engine, ask('hi', options, tools))
}

describe('a reply of Responses', () => {
  test('a reply of Responses keeps the order of its items, and what the server encrypted', async () => {
    const thought = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'e1' }
    const { choices, usage } = await answerTo(
      responseOf(
        itemOf(0, thought, [['response.reasoning_text.delta', { delta: 'hm' }]]),
        messageItem(1, 'One ', 'moment.'),
        callItem(2, 'c1', 'f', '{"a"', ': 1}'),
        messageItem(3, 'And'),
        callItem(4, 'c2', 'g'),
      ),
    )
    expect(choices).toEqual([
      {
        tokens: [],
        finish: { reason: 'tool-calls' },
        parts: [
          { type: 'reasoning', text: 'hm', opaque: expect.stringContaining('"encrypted":"e1"') },
          { type: 'text', text: 'One moment.' },
          { type: 'tool-call', id: 'c1', name: 'f', input: '{"a": 1}' },
          { type: 'text', text: 'And' },
          { type: 'tool-call', id: 'c2', name: 'g', input: '{}' },
        ],
      },
    ])
    expect(usage).toEqual({ inputTokens: 15, cachedInputTokens: 10, outputTokens: 9, reasoningTokens: 4 })
  })

  test('a reply of Responses gives back what it encrypted, with the summary that it showed', async () => {
    const { server, engine } = await engineFor(
      responseOf(
        itemOf(0, { type: 'reasoning', id: 'rs_1', encrypted_content: 'e1' }, [
          ['response.reasoning_summary_part.added', { summary_index: 0 }],
          ['response.reasoning_summary_text.delta', { summary_index: 0, delta: 'First.' }],
          ['response.reasoning_summary_part.added', { summary_index: 1 }],
          ['response.reasoning_summary_text.delta', { summary_index: 1, delta: 'Then.' }],
        ]),
        messageItem(1, 'Yes.'),
      ),
    )
    const first = ask('hi')
    const { choices } = await answer(engine, first)
    if (first.prompt.type !== 'chat') throw new Error('a conversation was asked')
    const messages = [...first.prompt.messages, { role: 'assistant', parts: outputOf(choices[0]?.parts ?? []) } as const]
    await answer(engine, { ...first, prompt: { ...first.prompt, messages } })
    expect(server.seen[1]?.body).toMatchObject({
      store: false,
      include: ['reasoning.encrypted_content'],
      input: [
        { role: 'user' },
        { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'First.\n\nThen.' }], encrypted_content: 'e1' },
        { role: 'assistant', content: [{ type: 'output_text', text: 'Yes.' }] },
      ],
    })
  })

  test('a reply of Responses has refusals, sources and log-probabilities', async () => {
    const logprobs = [{ token: 'ok', logprob: -0.5, top_logprobs: [{ token: 'ok', logprob: -0.5 }] }]
    const annotation = { type: 'url_citation', url: 'http://a', title: 'A', start_index: 0, end_index: 2 }
    const message = { type: 'message', content: [] }
    const { choices } = await answerTo(
      responseOf(
        itemOf(0, message, [
          ['response.output_text.delta', { delta: 'ok', logprobs }],
          ['response.output_text.annotation.added', { annotation }],
          ['response.refusal.delta', { delta: 'No.' }],
        ]),
      ),
      { logprobs: { top: 1 } },
    )
    expect(choices[0]).toMatchObject({
      parts: [
        {
          type: 'text',
          text: 'ok',
          annotations: [{ type: 'url-citation', url: 'http://a', title: 'A', startIndex: 0, endIndex: 2 }],
        },
        { type: 'refusal', text: 'No.' },
      ],
      tokens: [{ text: 'ok', logprob: -0.5, top: [{ text: 'ok' }] }],
    })
  })

  test.each([
    ['incomplete', { incomplete_details: { reason: 'max_output_tokens' } }, { reason: 'length' }],
    ['incomplete', { incomplete_details: { reason: 'content_filter' } }, { reason: 'content-filter' }],
    ['incomplete', { incomplete_details: { reason: 'news' } }, { reason: 'length' }],
    ['completed', {}, { reason: 'stop' }],
  ])('%s with %j ends as that', async (status, fields, finish) => {
    const { choices } = await answerTo(streamOf(messageItem(0, 'a'), responseEnd(status, fields)))
    expect(choices[0]?.finish).toEqual(finish)
  })

  test('a reply of Responses is complete also where pieces come only at the end of their item', async () => {
    const items = [
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] },
      {
        type: 'message',
        content: [
          { type: 'output_text', text: 'ok' },
          { type: 'refusal', refusal: 'no' },
        ],
      },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{"a":1}' },
    ]
    const parts = [
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'ok' },
      { type: 'refusal', text: 'no' },
      { type: 'tool-call', id: 'c', name: 'f', input: '{"a":1}' },
    ]
    const lateItems = items.map((item, output_index) => responsesEvent('response.output_item.done', { output_index, item }))
    expect((await answerTo(streamOf(...lateItems, responseEnd('completed')))).choices[0]?.parts).toEqual(parts)
    expect((await answerTo(streamOf(responseEnd('completed', { output: items })))).choices[0]?.parts).toEqual(parts)
    const whole = JSON.stringify({ object: 'response', status: 'completed', output: items, error: null })
    expect((await answerTo(refusing(200, whole))).choices[0]?.parts).toEqual(parts)
  })

  test('a stop sequence, which the protocol lacks, ends it here', async () => {
    const { server, engine } = await engineFor(responseOf(messageItem(0, 'one E', 'ND two')))
    const { choices } = await answer(engine, ask('hi', { stop: ['END'] }))
    expect(choices[0]).toMatchObject({ parts: [{ text: 'one ' }], finish: { reason: 'stop', stopSequence: 'END' } })
    expect(server.seen[0]?.body).not.toHaveProperty('stop')
  })

  test('a reply of Responses is counted by the server before it is generated', async () => {
    const { server, engine } = await engineFor(refusing(200, '{"object":"response.input_tokens","input_tokens":42}'))
    const { prompt } = ask('hi')
    if (prompt.type !== 'chat') throw new Error('a conversation was asked')
    const request = { prompt, reasoning: {}, addBos: true, parseSpecial: true }
    expect(await engine.capabilities.tokenizer?.count(request, never)).toBe(42)
    expect(server.seen[0]).toMatchObject({ path: '/v1/responses/input_tokens', body: { input: [{ content: 'hi' }] } })
  })

  test('unknown events and items are skipped', async () => {
    const search = itemOf(0, { type: 'web_search_call', id: 'ws' }, [['response.web_search_call.searching', {}]])
    expect(textsOf(await answerTo(responseOf(search, responsesEvent('news', { delta: 'x' }), messageItem(1, 'ok'))))).toEqual([
      'ok',
    ])
  })

  test('arguments that open with an empty object are kept', async () => {
    const result = await answerTo(responseOf(callItem(0, 'c1', 'f', '{}', '{"a":', '1}'), callItem(1, 'c2', 'g', '{}')))
    expect(callsIn(result).map(({ input }) => input)).toEqual(['{"a":1}', '{}'])
  })

  test.skipIf(!existsSync(recordings))('the recorded call of a custom tool is a call with its input', async () => {
    const name = 'responses-openai-custom-tool.1'
    const lines = readFileSync(new URL(`${name}.chunks.txt`, recordings), 'utf8')
      .trim()
      .split('\n')
    const stream = streamOf(...lines.map((line) => `data: ${line}\n\n`))
    const whole = refusing(200, readFileSync(new URL(`${name}.json`, recordings)))
    for (const reply of [stream, whole]) {
      const result = await answerTo(reply)
      const input = '{"input":"SELECT * FROM users WHERE age > 25"}'
      expect(callsIn(result)).toEqual([{ type: 'tool-call', id: 'call_custom_sql_001', name: 'write_sql', input }])
    }
  })
})

describe('a failure of Responses', () => {
  test.each([
    ['rate_limit_exceeded', 'queue-full'],
    ['server_error', 'upstream-failed'],
    ['invalid_prompt', 'invalid-request'],
    ['context_length_exceeded', 'context-length-exceeded'],
  ])('%s is %s, as an event and as a failed response', async (code, expected) => {
    const error = { code, message: 'no luck' }
    const failed = responseEnd('failed', { error })
    for (const event of [failed, responsesEvent('error', error), responsesEvent('error', { error })]) {
      const { engine } = await engineFor(streamOf(event))
      expect(await failure(engine)).toMatchObject({ code: expected, message: expect.stringContaining('no luck') })
    }
  })

  test('one in mid-stream is never a clean end', async () => {
    const failed = responseEnd('failed', { error: { code: 'server_error', message: 'oops' } })
    const { engine } = await engineFor(streamOf(callItem(0, 'c', 'f', '{}'), failed))
    const types: string[] = []
    for await (const event of eventsOf(engine, ask('hi', {}, tools))) types.push(event.type)
    expect(types).not.toContain('finish')
    expect(types.at(-1)).toBe('error')
  })

  test('a stream that is cut at any byte is a clean stop only when its last event had come', async () => {
    const whole = Buffer.from(callItem(0, 'c1', 'f', '{"a": "ü"}') + responseEnd('completed'))
    const { server, engine } = await engineFor(responseOf())
    for (const length of cutsOf(whole, whole.length)) {
      server.answer = (_, response) => {
        openStream(response)
        response.end(whole.subarray(0, length))
      }
      const isComplete = await answer(engine, ask('hi', {}, tools)).then(
        () => true,
        () => false,
      )
      expect({ length, isComplete }).toEqual({ length, isComplete: length === whole.length })
    }
  })

  test.each([
    ['no JSON', 'data: {oops\n\n'],
    ['no object', 'data: []\n\n'],
    ['an end without a status', responsesEvent('response.completed', { response: {} })],
    [
      'items without end',
      Array.from({ length: 200 }, (_, output_index) =>
        responsesEvent('response.output_item.added', { output_index, item: { type: 'message' } }),
      ).join(''),
    ],
  ])('%s is a failure of the server', async (_, garbage) => {
    const { engine } = await engineFor(streamOf(garbage))
    expect(await failure(engine)).toMatchObject({ code: 'upstream-failed' })
  })

  test('a text of 8 MB comes through, also with an end that repeats it', async () => {
    const long = 'x'.repeat(8 * 1024 * 1024)
    const end = responseEnd('completed', { output: [{ type: 'message', content: [{ type: 'output_text', text: long }] }] })
    const [text] = textsOf(await answerTo(streamOf(messageItem(0, long, '!'), end)))
    expect(text).toHaveLength(long.length + 1)
  })
})
