import { describe, expect, test } from 'vitest'
import { call, callsIn, reasoning, refusal, text } from '../../../../../test/support/parts.ts'
import {
  answer,
  ask,
  engineOver,
  eventsOf,
  failure,
  refusing,
  upstream,
} from '../../../../../test/support/upstream/remote-engine.ts'
import { chatChunk, doneLine, streamOf, usageChunk } from '../../../../../test/support/upstream/upstream.ts'
import type { GenerationEvent, StartEvent } from '../../../../contract/event.ts'
import type { Annotation, TextPart } from '../../../../contract/request.ts'
import { encodeResult } from '../../../../dialect/openai-chat/encode.ts'
import { createChunkEncoder } from '../../../../dialect/openai-chat/encode-stream.ts'

describe('lenient reading', () => {
  test.each(['text/plain', 'application/octet-stream', ''])('a stream of type %j is a stream', async (contentType) => {
    const server = await upstream((request, response) => {
      response.writeHead(200, contentType === '' ? {} : { 'content-type': contentType })
      response.end(`: hello\n\n${chatChunk({ delta: { content: 'ok' }, finish_reason: 'stop' })}${usageChunk(1, 1)}${doneLine}`)
      void request
    })
    expect((await answer(engineOver([server]), ask('hi'))).choices).toMatchObject([{ parts: [text('ok')] }])
  })

  test.each(['', 'null'])('the finish reason %j counts as absent', async (word) => {
    const whole = [
      chatChunk({ delta: { content: 'o' }, finish_reason: word }),
      chatChunk({ delta: { content: 'k' }, finish_reason: word }),
    ]
    const cut = await upstream(streamOf(...whole, doneLine))
    expect(await failure(engineOver([cut]))).toMatchObject({ code: 'upstream-failed' })
    const sound = await upstream(streamOf(...whole, chatChunk({ delta: {}, finish_reason: 'length' }), doneLine))
    expect((await answer(engineOver([sound]), ask('hi'))).choices).toMatchObject([
      { parts: [text('ok')], finish: { reason: 'length' } },
    ])
  })

  test("Llama's `eom` ends a message within a turn, and a turn with calls as any other", async () => {
    const toCall = { tool_calls: [{ index: 0, id: 'c1', function: { name: 'READ', arguments: '{}' } }] }
    for (const [delta, reason] of [
      [{ content: 'ok' }, 'end-of-message'],
      [toCall, 'tool-calls'],
      [{ content: '<tool_call>{"name": "READ", "arguments": {}}</tool_call>' }, 'tool-calls'],
    ] as const) {
      const server = await upstream(streamOf(chatChunk({ delta }), chatChunk({ delta: {}, finish_reason: 'eom' }), doneLine))
      const { choices } = await answer(engineOver([server]), ask('hi', {}, [{ name: 'READ' }]))
      expect(choices).toMatchObject([{ finish: { reason } }])
    }
  })

  test('thinking parts of the content are reasoning', async () => {
    const parts = [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }]
    const server = await upstream(
      streamOf(
        chatChunk({ delta: { content: parts } }),
        chatChunk({ delta: { content: 'Yes' }, finish_reason: 'stop' }),
        doneLine,
      ),
    )
    expect((await answer(engineOver([server]), ask('hi'))).choices).toMatchObject([{ parts: [reasoning('Hm.'), text('Yes')] }])
  })

  test('a stream after much white space is a stream', async () => {
    const server = await upstream((request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      const first = chatChunk({ delta: { content: 'first ' } })
      response.end(`${'\n'.repeat(2000)}${first}${chatChunk({ delta: { content: 'second' }, finish_reason: 'stop' })}${doneLine}`)
      void request
    })
    expect((await answer(engineOver([server]), ask('hi'))).choices).toMatchObject([{ parts: [text('first second')] }])
  })

  test('two calls of index 0 without ids, with arguments in separate pieces, are two calls', async () => {
    const piece = (call: object) => chatChunk({ delta: { tool_calls: [{ index: 0, function: call }] } })
    const pieces = [
      { name: 'go', arguments: '' },
      { arguments: '{"to":"x"}' },
      { name: 'stay', arguments: '' },
      { arguments: '{"n":1}' },
    ]
    const server = await upstream(streamOf(...pieces.map(piece), chatChunk({ delta: {}, finish_reason: 'tool_calls' }), doneLine))
    const tools = [{ name: 'go' }, { name: 'stay' }]
    expect((await answer(engineOver([server]), ask('hi', {}, tools))).choices).toMatchObject([
      {
        parts: [
          { type: 'tool-call', name: 'go', input: '{"to":"x"}' },
          { type: 'tool-call', name: 'stay', input: '{"n":1}' },
        ],
      },
    ])
  })

  test('two calls of index 0 without ids are two calls', async () => {
    const going = (city: string) =>
      chatChunk({ delta: { tool_calls: [{ index: 0, function: { name: 'go', arguments: `{"to":"${city}"}` } }] } })
    const server = await upstream(
      streamOf(going('Oslo'), going('Rome'), chatChunk({ delta: {}, finish_reason: 'tool_calls' }), doneLine),
    )
    const tool = { name: 'go', parameters: { type: 'object', properties: { to: { type: 'string' } } } }
    const result = await answer(engineOver([server]), ask('hi', {}, [tool]))
    expect(callsIn(result).map(({ input }) => JSON.parse(input))).toEqual([{ to: 'Oslo' }, { to: 'Rome' }])
  })

  test.each([
    [['read'], 'Read'],
    [['Re', 'ad'], 'Read'],
    [['functions.', 'Read'], 'Read'],
    [['functions.write:0'], 'write'],
    [['write<|channel|>', 'commentary'], 'write'],
    [['mcp__files__write'], 'write'],
  ])('a call of %j is one of the only tool that fits: %s', async (names, wanted) => {
    const pieces = [...names.map((name) => ({ name })), { arguments: '{"p":' }, { arguments: '"x"}' }]
    const chunks = pieces.map((piece, at) =>
      chatChunk({ delta: { tool_calls: [{ index: 0, ...(at === 0 && { id: 'c1' }), function: piece }] } }),
    )
    const server = await upstream(streamOf(...chunks, chatChunk({ delta: {}, finish_reason: 'tool_calls' }), doneLine))
    const tools = [{ name: 'Read' }, { name: 'write' }]
    expect((await answer(engineOver([server]), ask('hi', {}, tools))).choices).toMatchObject([
      { parts: [{ type: 'tool-call', id: 'c1', name: wanted, input: '{"p":"x"}' }], finish: { reason: 'tool-calls' } },
    ])
  })

  test('a call of a name that fits two tools is text', async () => {
    const piece = chatChunk({ delta: { tool_calls: [{ index: 0, function: { name: 'READ', arguments: '{}' } }] } })
    const server = await upstream(streamOf(piece, chatChunk({ delta: {}, finish_reason: 'tool_calls' }), doneLine))
    const { choices } = await answer(engineOver([server]), ask('hi', {}, [{ name: 'Read' }, { name: 'read' }]))
    expect(choices).toMatchObject([{ parts: [text('{"name": "READ", "arguments": {}}')], finish: { reason: 'stop' } }])
  })

  test('where one tool is required, calls of the others are dropped', async () => {
    const piece = (index: number, name: string) =>
      chatChunk({ delta: { tool_calls: [{ index, function: { name, arguments: '{}' } }] } })
    const server = await upstream(
      streamOf(piece(0, 'go'), piece(1, 'stay'), chatChunk({ delta: {}, finish_reason: 'tool_calls' }), doneLine),
    )
    const toolChoice = { type: 'required', names: ['stay'] } as const
    const result = await answer(engineOver([server]), ask('hi', { toolChoice }, [{ name: 'go' }, { name: 'stay' }]))
    expect(result.choices).toMatchObject([{ parts: [{ type: 'tool-call', name: 'stay' }] }])
  })

  test.each([
    'The list [1, 2, 3] and the call [get_time()].',
    '{"name": "Bob", "age": 3}',
    'Write `<tool_call>` before and `</tool_call>` behind it.',
    '[{"name": "unknown_tool", "arguments": {}}]',
    'In Python: go(to="Oslo") prints it.',
  ])('a text that looks like a call stays text: %s', async (raw) => {
    const pieces = [...raw].map((letter) => chatChunk({ delta: { content: letter } }))
    const server = await upstream(streamOf(...pieces, chatChunk({ delta: {}, finish_reason: 'stop' }), doneLine))
    const { choices } = await answer(engineOver([server]), ask('hi', {}, [{ name: 'go' }]))
    expect(choices[0]).toMatchObject({ parts: [text(raw)], finish: { reason: 'stop' } })
  })

  test('each log-probability is emitted once, with text, reasoning, calls and stop sequences', async () => {
    const told = (...texts: string[]) => ({
      logprobs: { content: texts.map((token) => ({ token, logprob: -1, bytes: null, top_logprobs: [] })) },
    })
    const callPiece = (piece: object) => ({ tool_calls: [{ index: 0, ...piece }] })
    const server = await upstream(
      streamOf(
        chatChunk({ delta: { reasoning_content: 'a' }, ...told('a') }),
        chatChunk({ delta: { content: 'b E' }, ...told('b', ' E') }),
        chatChunk({ delta: { content: 'c' }, ...told('c') }),
        chatChunk({ delta: callPiece({ id: '1', function: { name: 'go' } }), ...told('d') }),
        chatChunk({ delta: callPiece({ function: { name: '_far', arguments: '' } }), ...told('e') }),
        chatChunk({ delta: callPiece({ function: { arguments: '{"to":' } }), ...told('f') }),
        chatChunk({ delta: callPiece({ function: { arguments: '1}' } }), ...told('g') }),
        chatChunk({ delta: {}, finish_reason: 'tool_calls' }),
        doneLine,
      ),
    )
    const request = ask('hi', { logprobs: { top: 0 }, stop: ['END'] }, [{ name: 'go' }, { name: 'go_far' }])
    const tokens: string[] = []
    for await (const event of eventsOf(engineOver([server]), request)) {
      if ('tokens' in event) tokens.push(...(event.tokens ?? []).map(({ text }) => text))
    }
    expect(tokens.toSorted()).toEqual(['a', 'b', ' E', 'c', 'd', 'e', 'f', 'g'].toSorted())
  })

  test.each([
    ['stop', ['a', 'b']],
    ['tool_calls', ['a', 'b']],
    ['length', ['a', 'b', 'c']],
  ])('the token that ends a turn, which vLLM counts with the text, is none of it: %s', async (finish_reason, kept) => {
    const told = (token: string) => ({ logprobs: { content: [{ token, logprob: -1, bytes: null, top_logprobs: [] }] } })
    const texts = ['a', 'b'].map((content) => chatChunk({ delta: { content }, ...told(content) }))
    const server = await upstream(streamOf(...texts, chatChunk({ delta: {}, finish_reason, ...told('c') }), doneLine))
    const tokens: string[] = []
    for await (const event of eventsOf(engineOver([server]), ask('hi', { logprobs: { top: 0 } }))) {
      if ('tokens' in event) tokens.push(...(event.tokens ?? []).map(({ text }) => text))
    }
    expect(tokens).toEqual(kept)
  })
})

describe('refusals and annotations', () => {
  const citation = { type: 'url_citation', url_citation: { url: 'https://a.example', title: 'A', start_index: 0, end_index: 4 } }
  const cited: Annotation = { type: 'url-citation', url: 'https://a.example', title: 'A', startIndex: 0, endIndex: 4 }

  test('a refusal comes through in its pieces, as one', async () => {
    const server = await upstream(
      streamOf(
        chatChunk({ delta: { role: 'assistant', content: '', refusal: null } }),
        chatChunk({ delta: { refusal: 'I can' } }),
        chatChunk({ delta: { refusal: 'not.' } }),
        chatChunk({ delta: {}, finish_reason: 'stop' }),
        doneLine,
      ),
    )
    const types: string[] = []
    for await (const { type } of eventsOf(engineOver([server]), ask('hi'))) types.push(type)
    expect(types).toEqual(['start', 'refusal-start', 'refusal-delta', 'refusal-delta', 'refusal-end', 'finish', 'usage'])
    const { choices } = await answer(engineOver([server]), ask('hi'))
    expect(choices).toMatchObject([{ parts: [refusal('I cannot.')], finish: { reason: 'stop' } }])
  })

  test('a whole reply is text, then its refusal, and what the text is based on', async () => {
    const message = { role: 'assistant', content: 'Rain.', refusal: 'No more.', annotations: [citation] }
    const server = await upstream(refusing(200, JSON.stringify({ choices: [{ message, finish_reason: 'content_filter' }] })))
    expect((await answer(engineOver([server]), ask('hi'))).choices).toMatchObject([
      { parts: [{ ...text('Rain.'), annotations: [cited] }, refusal('No more.')], finish: { reason: 'content-filter' } },
    ])
  })

  test('an annotation belongs to the text, also where that is held back', async () => {
    const server = await upstream(
      streamOf(
        chatChunk({ delta: { content: 'EN' } }),
        chatChunk({ delta: { annotations: [citation] } }),
        chatChunk({ delta: { content: 'TRY' }, finish_reason: 'stop' }),
        doneLine,
      ),
    )
    const { choices } = await answer(engineOver([server]), ask('hi', { stop: ['END'] }))
    expect(choices).toMatchObject([{ parts: [{ ...text('ENTRY'), annotations: [cited] }] }])
  })

  test.each<[string, unknown, readonly Annotation[]]>([
    ['without a title and indices', [{ type: 'url_citation', url_citation: { url: 'u' } }], [{ type: 'url-citation', url: 'u' }]],
    ['of another type', [{ type: 'file_citation', file_citation: { file_id: 'f' } }, citation], [cited]],
    ['without an address', [{ type: 'url_citation', url_citation: { title: 'A' } }, null, citation], [cited]],
  ])('an annotation %s is read leniently', async (_, annotations, read) => {
    const server = await upstream(
      streamOf(chatChunk({ delta: { content: 'Rain' } }), chatChunk({ delta: { annotations }, finish_reason: 'stop' }), doneLine),
    )
    expect((await answer(engineOver([server]), ask('hi'))).choices).toMatchObject([
      { parts: [{ ...text('Rain'), annotations: read }] },
    ])
  })

  test('nothing of it follows a stop text', async () => {
    const server = await upstream(
      streamOf(
        chatChunk({ delta: { content: 'a END b', refusal: 'no', annotations: [citation] } }),
        chatChunk({ delta: { refusal: 'no' }, finish_reason: 'stop' }),
        doneLine,
      ),
    )
    const { choices } = await answer(engineOver([server]), ask('hi', { stop: ['END'] }))
    expect(choices).toMatchObject([{ parts: [text('a ')], finish: { reason: 'stop', stopSequence: 'END' } }])
  })

  test('the log-probabilities of a refusal are reported once', async () => {
    const logprobs = { content: [{ token: 'No', logprob: -1, bytes: null, top_logprobs: [] }] }
    const server = await upstream(streamOf(chatChunk({ delta: { refusal: 'No' }, logprobs, finish_reason: 'stop' }), doneLine))
    const { choices } = await answer(engineOver([server]), ask('hi', { logprobs: { top: 0 } }))
    expect(choices).toMatchObject([{ parts: [refusal('No')], tokens: [{ text: 'No' }] }])
  })
})

describe('what Dragoman says is what Dragoman reads', () => {
  const head = { id: 'chatcmpl-1', createdSeconds: 1, model: 'up', systemFingerprint: 'x' }
  const start: StartEvent = { type: 'start', model: 'up', warnings: [] }
  const style = { reasoningFields: 'both', legacyCalls: false, logprobs: false } as const
  const usage = { inputTokens: 1, cachedInputTokens: 0, outputTokens: 9, reasoningTokens: 2 }
  const annotation: Annotation = { type: 'url-citation', url: 'https://a.example', title: 'A', startIndex: 0, endIndex: 4 }
  const cited: TextPart = { ...text('Rain.'), annotations: [annotation] }
  const tool = { name: 'f' }

  test('in a whole reply, in the order in which chat has it', async () => {
    const parts = [reasoning('hm'), cited, refusal('No more.'), call('call_1', 'f', '{"n":1}')]
    const result = { start, choices: [{ parts, tokens: [], finish: { reason: 'tool-calls' } }], usage, timings: {} } as const
    const server = await upstream(refusing(200, JSON.stringify(encodeResult(result, head, style))))
    const read = await answer(engineOver([server]), ask('hi', {}, [tool]))
    expect(read).toMatchObject({ choices: [{ parts, finish: { reason: 'tool-calls' } }], usage })
  })

  test('in a stream, in the order in which it was generated', async () => {
    const events: GenerationEvent[] = [
      start,
      { type: 'reasoning-start', choice: 0 },
      { type: 'reasoning-delta', choice: 0, delta: 'hm' },
      { type: 'reasoning-end', choice: 0 },
      { type: 'text-start', choice: 0 },
      { type: 'text-delta', choice: 0, delta: 'Rain' },
      { type: 'text-delta', choice: 0, delta: '.' },
      { type: 'annotation', choice: 0, annotation },
      { type: 'text-end', choice: 0 },
      { type: 'reasoning-start', choice: 0 },
      { type: 'reasoning-delta', choice: 0, delta: 'aha' },
      { type: 'reasoning-end', choice: 0 },
      { type: 'refusal-start', choice: 0 },
      { type: 'refusal-delta', choice: 0, delta: 'No more.' },
      { type: 'refusal-end', choice: 0 },
      { type: 'tool-call-start', choice: 0, id: 'call_1', name: 'f' },
      { type: 'tool-call-delta', choice: 0, id: 'call_1', delta: '{"n":1}' },
      { type: 'tool-call-end', choice: 0, id: 'call_1' },
      { type: 'finish', choice: 0, reason: 'tool-calls' },
      { type: 'usage', usage, timings: {} },
    ]
    const encoder = createChunkEncoder(() => head, { ...style, includeUsage: true })
    const server = await upstream(streamOf(...events.map((event) => encoder.encode(event))))
    const read = await answer(engineOver([server]), ask('hi', {}, [tool]))
    const parts = [reasoning('hm'), cited, reasoning('aha'), refusal('No more.'), call('call_1', 'f', '{"n":1}')]
    expect(read).toMatchObject({ choices: [{ parts, finish: { reason: 'tool-calls' } }], usage })
  })
})

test('the times of a reply are those that llama-server has measured', async () => {
  const drafted = { draft_n: 6, draft_n_accepted: 4 }
  const times = { prompt_ms: 12.3456, predicted_ms: 7, predicted_per_second: 142 }
  const timings = { cache_n: 2, prompt_n: 5, predicted_n: 1, ...times, ...drafted }
  const choice = { index: 0, delta: { content: 'a' } }
  const chunks = [{ choices: [choice] }, { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], timings }]
  const frames = [...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), 'data: [DONE]\n\n']
  const read = await answer(engineOver([await upstream(streamOf(...frames))]), ask('hi'))
  expect(read).toMatchObject({ timings: { prefillMs: 12.346, decodeMs: 7 }, usage: { inputTokens: 7, cachedInputTokens: 2 } })
  expect(read).toMatchObject({ usage: { drafts: { proposed: 6, accepted: 4, kinds: { server: { proposed: 6, accepted: 4 } } } } })
})

test('those who ask for it learn how far llama-server has read the prompt, before the text', async () => {
  const progress = (processed: number) => ({ prompt_progress: { total: 9, cache: 2, processed, time_ms: 1.5 } })
  const chunk = (delta: object, more: object = {}) => `data: ${JSON.stringify({ choices: [{ index: 0, delta, ...more }] })}\n\n`
  const opened = (processed: number) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { role: 'assistant', content: null } }], ...progress(processed) })}\n\n`
  const frames = [opened(2), opened(9), chunk({ content: 'a' }), chunk({}, { finish_reason: 'stop' }), 'data: [DONE]\n\n']
  const seen = async (tellsProgress: boolean) => {
    const request = { ...ask('hi'), ...(tellsProgress && { tellsProgress: true as const }) }
    const events: unknown[] = []
    for await (const event of eventsOf(engineOver([await upstream(streamOf(...frames))]), request)) {
      if (event.type === 'prompt-progress')
        events.push([event.readTokens, event.inputTokens, event.cachedInputTokens, event.elapsedMs])
    }
    return events
  }
  expect(await seen(true)).toEqual([
    [2, 9, 2, 1.5],
    [9, 9, 2, 1.5],
  ])
  expect(await seen(false)).toEqual([])
})

describe('the tokens of the prompt', () => {
  const counted = { usage: { prompt_tokens: 9, completion_tokens: 0 } }
  const promptReads = async (...pieces: string[]) => {
    const server = await upstream(
      streamOf(...pieces, chatChunk({ delta: {}, finish_reason: 'stop' }), usageChunk(9, 2), doneLine),
    )
    const seen: [string, number?][] = []
    for await (const event of eventsOf(engineOver([server]), ask('hi')))
      seen.push(event.type === 'prompt-read' ? [event.type, event.inputTokens] : [event.type])
    return seen.slice(1, 3)
  }

  test('the tokens of the prompt are reported once, with the first output, where the server has counted them by then', async () => {
    const told = await promptReads(
      chatChunk({ delta: { role: 'assistant', content: '' } }, counted),
      chatChunk({ delta: { content: 'a' } }, counted),
      chatChunk({ delta: { content: 'b' } }, counted),
    )
    expect(told).toEqual([['prompt-read', 9], ['text-start']])
  })

  test('the tokens of the prompt are reported with the usage where the server counts them at the end', async () => {
    const told = await promptReads(chatChunk({ delta: { content: 'a' } }), chatChunk({ delta: { content: 'b' } }, counted))
    expect(told).toEqual([['text-start'], ['text-delta']])
  })
})
