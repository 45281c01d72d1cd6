import { describe, expect, test } from 'vitest'
import { answer, ask, engineOver, eventsOf, failure, upstream } from '../../../../test/support/remote-engine.ts'
import { chatChunk, doneLine, streamOf, usageChunk } from '../../../../test/support/upstream.ts'

describe('lenient reading', () => {
  test.each(['text/plain', 'application/octet-stream', ''])('a stream of type %j is a stream', async (contentType) => {
    const server = await upstream((request, response) => {
      response.writeHead(200, contentType === '' ? {} : { 'content-type': contentType })
      response.end(`: hello\n\n${chatChunk({ delta: { content: 'ok' }, finish_reason: 'stop' })}${usageChunk(1, 1)}${doneLine}`)
      void request
    })
    expect((await answer(engineOver([server]), ask('hi'))).choices).toMatchObject([{ text: 'ok' }])
  })

  test.each(['', 'null'])('the finish reason %j counts as absent', async (word) => {
    const whole = [
      chatChunk({ delta: { content: 'o' }, finish_reason: word }),
      chatChunk({ delta: { content: 'k' }, finish_reason: word }),
    ]
    const cut = await upstream(streamOf(...whole, doneLine))
    expect(await failure(engineOver([cut]))).toMatchObject({ code: 'engine-failed' })
    const sound = await upstream(streamOf(...whole, chatChunk({ delta: {}, finish_reason: 'length' }), doneLine))
    expect((await answer(engineOver([sound]), ask('hi'))).choices).toMatchObject([{ text: 'ok', finish: { reason: 'length' } }])
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
    expect((await answer(engineOver([server]), ask('hi'))).choices).toMatchObject([{ reasoning: 'Hm.', text: 'Yes' }])
  })

  test('a stream after much white space is a stream', async () => {
    const server = await upstream((request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      const first = chatChunk({ delta: { content: 'first ' } })
      response.end(`${'\n'.repeat(2000)}${first}${chatChunk({ delta: { content: 'second' }, finish_reason: 'stop' })}${doneLine}`)
      void request
    })
    expect((await answer(engineOver([server]), ask('hi'))).choices).toMatchObject([{ text: 'first second' }])
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
        toolCalls: [
          { name: 'go', arguments: '{"to":"x"}' },
          { name: 'stay', arguments: '{"n":1}' },
        ],
      },
    ])
  })

  test('two calls of index 0 without ids are two calls', async () => {
    const call = (city: string) =>
      chatChunk({ delta: { tool_calls: [{ index: 0, function: { name: 'go', arguments: `{"to":"${city}"}` } }] } })
    const server = await upstream(
      streamOf(call('Oslo'), call('Rome'), chatChunk({ delta: {}, finish_reason: 'tool_calls' }), doneLine),
    )
    const tool = { name: 'go', parameters: { type: 'object', properties: { to: { type: 'string' } } } }
    const { choices } = await answer(engineOver([server]), ask('hi', {}, [tool]))
    expect(choices[0]?.toolCalls.map(({ arguments: text }) => JSON.parse(text))).toEqual([{ to: 'Oslo' }, { to: 'Rome' }])
  })

  test.each([
    'The list [1, 2, 3] and the call [get_time()].',
    '{"name": "Bob", "age": 3}',
    'Write `<tool_call>` before and `</tool_call>` behind it.',
    '[{"name": "unknown_tool", "arguments": {}}]',
    'In Python: go(to="Oslo") prints it.',
  ])('a text that looks like a call stays text: %s', async (text) => {
    const pieces = [...text].map((letter) => chatChunk({ delta: { content: letter } }))
    const server = await upstream(streamOf(...pieces, chatChunk({ delta: {}, finish_reason: 'stop' }), doneLine))
    const { choices } = await answer(engineOver([server]), ask('hi', {}, [{ name: 'go' }]))
    expect(choices[0]).toMatchObject({ text, toolCalls: [], finish: { reason: 'stop' } })
  })

  test('each log-probability is emitted once, with text, reasoning, calls and stop sequences', async () => {
    const told = (...texts: string[]) => ({
      logprobs: { content: texts.map((token) => ({ token, logprob: -1, bytes: null, top_logprobs: [] })) },
    })
    const call = (piece: object) => ({ tool_calls: [{ index: 0, ...piece }] })
    const server = await upstream(
      streamOf(
        chatChunk({ delta: { reasoning_content: 'a' }, ...told('a') }),
        chatChunk({ delta: { content: 'b E' }, ...told('b', ' E') }),
        chatChunk({ delta: { content: 'c' }, ...told('c') }),
        chatChunk({ delta: call({ id: '1', function: { name: 'go' } }), ...told('d') }),
        chatChunk({ delta: call({ function: { name: '_far', arguments: '' } }), ...told('e') }),
        chatChunk({ delta: call({ function: { arguments: '{"to":' } }), ...told('f') }),
        chatChunk({ delta: call({ function: { arguments: '1}' } }), ...told('g') }),
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
})
