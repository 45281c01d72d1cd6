import { randomUUID } from 'node:crypto'
import type { Worker } from 'node:worker_threads'
import { describe, expect, onTestFinished, test } from 'vitest'
import { callsIn, reasoning, text, textsOf } from '../../../test/support/parts.ts'
import {
  answer,
  ask,
  engineOver,
  failure,
  fine,
  knownEngine,
  refusing,
  upstream,
} from '../../../test/support/upstream/remote-engine.ts'
import { chatChunk, doneLine, startUpstream, streamOf, usageChunk } from '../../../test/support/upstream/upstream.ts'
import type { Prompt, Tool } from '../../contract/request.ts'

const weather: Tool = {
  name: 'get_weather',
  parameters: { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } } },
}

describe('replies', () => {
  test('text, finish reason and usage are passed on', async () => {
    const server = await upstream(
      streamOf(
        chatChunk({ delta: { role: 'assistant', content: '' } }),
        chatChunk({ delta: { content: 'Hello' } }),
        chatChunk({ delta: { content: ' there' }, finish_reason: 'stop' }),
        usageChunk(7, 2),
        doneLine,
      ),
    )
    const result = await answer(engineOver([server]), ask('hi'))
    expect(result.choices).toMatchObject([{ parts: [text('Hello there')], finish: { reason: 'stop' } }])
    expect(result.usage).toEqual({ inputTokens: 7, cachedInputTokens: 0, outputTokens: 2, reasoningTokens: 0 })
  })

  test('a reply that is not streamed is read', async () => {
    const server = await upstream((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const message = { role: 'assistant', content: 'Whole.' }
      response.end(
        JSON.stringify({ choices: [{ message, finish_reason: 'length' }], usage: { prompt_tokens: 3, completion_tokens: 1 } }),
      )
    })
    const result = await answer(engineOver([server]), ask('hi'))
    expect(result.choices).toMatchObject([{ parts: [text('Whole.')], finish: { reason: 'length' } }])
  })

  test.each(['reasoning_content', 'reasoning'])('reasoning in %s is reasoning', async (field) => {
    const server = await upstream(
      streamOf(
        chatChunk({ delta: { [field]: 'Let me ' } }),
        chatChunk({ delta: { [field]: 'see.' } }),
        chatChunk({ delta: { content: 'Yes' }, finish_reason: 'stop' }),
        usageChunk(1, 3),
        doneLine,
      ),
    )
    expect((await answer(engineOver([server]), ask('hi'))).choices).toMatchObject([
      { parts: [reasoning('Let me see.'), text('Yes')] },
    ])
  })

  test("tool calls are assembled, with the server's ids", async () => {
    const call = (index: number, more: Record<string, unknown>) => chatChunk({ delta: { tool_calls: [{ index, ...more }] } })
    const server = await upstream(
      streamOf(
        chatChunk({ delta: { content: 'I look.' } }),
        call(0, { id: 'call_a', type: 'function', function: { name: 'get_weather', arguments: '' } }),
        call(0, { function: { arguments: '{"city": "Pa' } }),
        call(0, { function: { arguments: 'ris"}' } }),
        call(1, { id: 'call_b', function: { name: 'get_weather', arguments: '{"city":"Rome"}' } }),
        chatChunk({ delta: {}, finish_reason: 'tool_calls' }),
        usageChunk(1, 3),
        doneLine,
      ),
    )
    const result = await answer(engineOver([server]), ask('hi', {}, [weather]))
    expect(result.choices).toMatchObject([{ parts: [text('I look.'), {}, {}], finish: { reason: 'tool-calls' } }])
    expect(callsIn(result).map(({ id, input }) => [id, JSON.parse(input)])).toEqual([
      ['call_a', { city: 'Paris' }],
      ['call_b', { city: 'Rome' }],
    ])
  })

  test.each([
    ['an object instead of a string', { city: 'Oslo', days: 2 }],
    ['JSON that is quoted twice', '"{\\"city\\": \\"Oslo\\", \\"days\\": 2}"'],
    ['a number as a string', '{"city": "Oslo", "days": "2"}'],
    ["Python's literals", "{'city': 'Oslo', 'days': 2}"],
    ['a missing bracket', '{"city": "Oslo", "days": 2'],
  ])('arguments that are %s are fixed', async (_, given) => {
    const server = await upstream(
      streamOf(
        chatChunk({ delta: { tool_calls: [{ function: { name: 'get_weather', arguments: given } }] }, finish_reason: 'stop' }),
        usageChunk(1, 3),
        doneLine,
      ),
    )
    const result = await answer(engineOver([server]), ask('hi', {}, [weather]))
    expect(JSON.parse(callsIn(result)[0]?.input ?? '')).toEqual({ city: 'Oslo', days: 2 })
    expect(result.choices[0]?.finish.reason).toBe('tool-calls')
  })

  test.each([
    ['vllm', 'chat'],
    ['sglang', 'chat'],
    ['dragoman', 'chat'],
    ['dragoman', 'completions'],
  ] as const)('a minimum of tokens is sent to %s in %s', async (kind, protocol) => {
    const server = await upstream(fine)
    const options = protocol === 'completions' ? { prompt: { type: 'text', text: 'hi' } as const } : {}
    await answer(engineOver([server], { profile: kind, upstreamModel: 'up' }), ask('hi', { minOutputTokens: 3, ...options }))
    expect(server.seen[0]?.body).toMatchObject({ min_tokens: 3 })
  })

  test('a minimum of tokens is refused where no server keeps one', async () => {
    const error = await failure(engineOver([await upstream(fine)]), ask('hi', { minOutputTokens: 3 }))
    expect(error).toMatchObject({ code: 'unsupported-field', at: ['minOutputTokens'] })
  })

  const opening = (...pieces: string[]) =>
    streamOf(
      chatChunk({ delta: { tool_calls: [{ index: 0, id: 'c', function: { name: 'get_weather', arguments: '{}' } }] } }),
      ...pieces.map((part) => chatChunk({ delta: { tool_calls: [{ index: 0, function: { arguments: part } }] } })),
      chatChunk({ delta: {}, finish_reason: 'tool_calls' }),
      doneLine,
    )
  const whole = (given: unknown) => {
    const message = { tool_calls: [{ id: 'c', function: { name: 'get_weather', arguments: given } }] }
    return refusing(200, JSON.stringify({ choices: [{ message, finish_reason: 'tool_calls' }] }))
  }
  test.each([
    ['in pieces', opening('{"city":', '"Oslo"}'), { city: 'Oslo' }],
    ['in one piece', opening('{"city":"Oslo"}'), { city: 'Oslo' }],
    ['in a whole reply', whole('{}{"city":"Oslo"}'), { city: 'Oslo' }],
    ['as nothing more', opening(), {}],
    ['as an object', whole({}), {}],
  ])('arguments that a server opens with an empty object are kept, %s', async (_, reply, input) => {
    const calls = callsIn(await answer(engineOver([await upstream(reply)]), ask('hi', {}, [weather])))
    expect(calls.map((call) => JSON.parse(call.input))).toEqual([input])
  })

  test.each([
    [
      'one after the other',
      [
        ['{"a":', '1}'],
        ['{"b":', '2}'],
      ],
      [0, 0, 1, 1],
      [{ a: 1 }, { b: 2 }],
    ],
    [
      'in turn',
      [
        ['{"a":', '1}'],
        ['{"b":', '2}'],
      ],
      [0, 1, 0, 1],
      [{ a: 1 }, { b: 2 }],
    ],
    ['of the second alone', [[], ['{"b":2}']], [1], [{}, { b: 2 }]],
    ['of none', [[], []], [], [{}, {}]],
  ])('the arguments of calls that all open with an empty object are kept, %s', async (_, pieces, order, inputs) => {
    const call = (index: number, piece: object) => chatChunk({ delta: { tool_calls: [{ index, ...piece }] } })
    const rest = pieces.map((all) => [...all])
    const reply = streamOf(
      ...[0, 1].map((index) => call(index, { id: `c${index}`, function: { name: 'get_weather', arguments: '{}' } })),
      ...order.map((index) => call(index, { function: { arguments: rest[index]?.shift() } })),
      chatChunk({ delta: {}, finish_reason: 'tool_calls' }),
      doneLine,
    )
    const calls = callsIn(await answer(engineOver([await upstream(reply)]), ask('hi', {}, [weather])))
    expect(calls.map(({ id, input }) => [id, JSON.parse(input)])).toEqual(inputs.map((input, index) => [`c${index}`, input]))
  })

  test.each([
    ["Hermes' tags", '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'],
    ["Llama's tag", '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Oslo"}}<|eom_id|>'],
    ['bare JSON', '{"name": "get_weather", "parameters": {"city": "Oslo"}}<|eot_id|>'],
    ['a list as Python has it', '[get_weather(city="Oslo")]'],
    ["Mistral's tag", '[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Oslo"}}]'],
    ['XML', '<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>'],
  ])('a tool call that the server left in its text as %s is found', async (_, raw) => {
    const pieces = [...raw].map((letter) => chatChunk({ delta: { content: letter } }))
    const server = await upstream(
      streamOf(...pieces, chatChunk({ delta: {}, finish_reason: 'stop' }), usageChunk(1, 3), doneLine),
    )
    const result = await answer(engineOver([server]), ask('hi', {}, [weather]))
    expect(callsIn(result).map(({ name, input }) => [name, JSON.parse(input)])).toEqual([['get_weather', { city: 'Oslo' }]])
    expect(result.choices[0]).toMatchObject({ parts: [{ type: 'tool-call' }], finish: { reason: 'tool-calls' } })
    const { prompt } = ask('hi', {}, [weather])
    const kept = await answer(engineOver([server]), {
      ...ask('hi'),
      prompt: { ...(prompt as object), keepsCallTexts: true } as Prompt,
    })
    expect(callsIn(kept)).toEqual([])
    expect(kept.choices[0]).toMatchObject({ finish: { reason: 'stop' } })
  })

  test('reasoning that the server left in its text is found', async () => {
    const raw = '<think>Hm.</think>Yes'
    const pieces = [...raw].map((letter) => chatChunk({ delta: { content: letter } }))
    const server = await upstream(
      streamOf(...pieces, chatChunk({ delta: {}, finish_reason: 'stop' }), usageChunk(1, 3), doneLine),
    )
    expect((await answer(engineOver([server]), ask('hi'))).choices[0]).toMatchObject({ parts: [reasoning('Hm.'), text('Yes')] })
  })

  test('the finish reason tool_calls without a call becomes stop, and is kept as raw reason', async () => {
    const server = await upstream(
      streamOf(
        chatChunk({ delta: { content: 'No.' } }),
        chatChunk({ delta: {}, finish_reason: 'tool_calls' }),
        usageChunk(1, 1),
        doneLine,
      ),
    )
    const { choices } = await answer(engineOver([server]), ask('hi', {}, [weather]))
    expect(choices[0]).toMatchObject({ parts: [text('No.')], finish: { reason: 'stop', rawReason: 'tool_calls' } })
  })

  test('all choices are generated, also by a server that makes one per request', async () => {
    const server = await upstream(
      ({ body }, response) => {
        const index = Number(body.n ?? 1)
        return streamOf(
          chatChunk({ delta: { content: `a${index}` }, finish_reason: 'stop' }),
          usageChunk(5, 1),
          doneLine,
        )({} as never, response)
      },
      { ownedBy: 'llamacpp' },
    )
    const result = await answer(engineOver([server]), ask('hi', { choices: 3 }))
    expect(textsOf(result)).toEqual(['a1', 'a1', 'a1'])
    expect(result.usage).toMatchObject({ inputTokens: 5, outputTokens: 3 })
    expect(server.seen).toHaveLength(3)
  })
})

describe('failures', () => {
  test('a truncated stream is an error, never a clean stop', async () => {
    const server = await upstream(streamOf(chatChunk({ delta: { content: 'Hel' } }), doneLine))
    await expect(answer(engineOver([server]), ask('hi'))).rejects.toMatchObject({ code: 'upstream-failed' })
  })

  test('an error object in a stream fails the reply', async () => {
    const server = await upstream(
      streamOf(chatChunk({ delta: { content: 'Hel' } }), 'data: {"error": {"message": "out of memory", "code": 500}}\n\n'),
    )
    await expect(answer(engineOver([server]), ask('hi'))).rejects.toThrow('out of memory')
  })

  test("a bad request is reported in the server's words, and not retried", async () => {
    const server = await upstream((_, response) => {
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end('{"error": {"message": "temperature must be smaller", "type": "invalid_request_error"}}')
    })
    await expect(answer(engineOver([server]), ask('hi'))).rejects.toMatchObject({
      code: 'invalid-request',
      message: 'temperature must be smaller',
    })
    expect(server.seen).toHaveLength(1)
  })

  test('a context overflow is reported with both numbers', async () => {
    const message =
      "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages. Please reduce."
    const server = await upstream((_, response) => {
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ object: 'error', message, code: 400 }))
    })
    await expect(answer(engineOver([server]), ask('hi'))).rejects.toMatchObject({
      code: 'context-length-exceeded',
      overflow: { contextLength: 4096, inputTokens: 5000 },
    })
  })

  test('a server that fails before its first event is replaced by another', async () => {
    const broken = await upstream((_, response) => {
      response.writeHead(500)
      response.end('boom')
    })
    const sound = await upstream(
      streamOf(chatChunk({ delta: { content: 'ok' }, finish_reason: 'stop' }), usageChunk(1, 1), doneLine),
    )
    const engine = engineOver([broken, sound])
    for (let turn = 0; turn < 3; turn++) expect(textsOf(await answer(engine, ask(`hi ${turn}`)))).toEqual(['ok'])
  })

  test('a reply that breaks off is continued by another server, as one reply', async () => {
    const first = await upstream(
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        const counts = { usage: { prompt_tokens: 9, completion_tokens: 2 } }
        response.write(chatChunk({ delta: { content: 'One, ' } }, counts))
        response.write(chatChunk({ delta: { content: 'two, ' } }, counts), () => response.destroy())
      },
      { ownedBy: 'vllm' },
    )
    const second = await upstream(
      streamOf(chatChunk({ delta: { content: 'three.' }, finish_reason: 'stop' }), usageChunk(11, 2), doneLine),
      { ownedBy: 'vllm' },
    )
    const result = await answer(await knownEngine([first, second]), ask('count', { maxOutputTokens: 10 }))
    expect(result.choices[0]).toMatchObject({ parts: [text('One, two, three.')], finish: { reason: 'stop' } })
    expect(result.usage).toMatchObject({ inputTokens: 9, outputTokens: 4 })
    expect(second.seen[0]?.body).toMatchObject({
      continue_final_message: true,
      add_generation_prompt: false,
      max_tokens: 8,
      messages: [{ role: 'user' }, { role: 'assistant', content: 'One, two, ' }],
    })
  })

  test('an unreachable server is a 503 with the reason', async () => {
    const gone = await startUpstream(streamOf(doneLine))
    await gone.close()
    const refused = { code: 'model-unavailable', retryAfterMs: 1000 }
    await expect(answer(engineOver([gone]), ask('hi'))).rejects.toMatchObject(refused)
    const going = await startUpstream(streamOf(doneLine))
    const engine = await knownEngine([going])
    await going.close()
    await expect(answer(engine, ask('hi'))).rejects.toMatchObject({ code: 'model-unavailable', retryAfterMs: expect.any(Number) })
  })

  test('a client that leaves closes the connection, also before the first byte', async () => {
    let arrived: () => void = () => undefined
    const arrival = new Promise<void>((resolve) => {
      arrived = resolve
    })
    let closed: () => void = () => undefined
    const closing = new Promise<void>((resolve) => {
      closed = resolve
    })
    const server = await upstream((_, response) => {
      response.once('close', () => closed())
      arrived()
    })
    const controller = new AbortController()
    const reply = answer(engineOver([server]), ask('hi'), controller.signal)
    reply.catch(() => undefined)
    await arrival
    controller.abort(new Error('gone'))
    await expect(reply).rejects.toThrow()
    await closing
    expect(server.hangUps()).toBe(1)
  })
})

test('the template of a server is read once, however many models have it', async () => {
  const chat_template = `{# ${randomUUID()} #}{% if enable_thinking %}<think>{% endif %}`
  const server = await upstream(fine, { ownedBy: 'llamacpp' })
  server.get = (path, response) => {
    if (path === '/props') response.end(JSON.stringify({ chat_template, build_info: 'b1' }))
    return path === '/props'
  }
  await knownEngine([server], { followsTemplate: true })
  const started: Worker[] = []
  const note = (thread: Worker) => void started.push(thread)
  process.on('worker', note)
  onTestFinished(() => void process.off('worker', note))
  await knownEngine([server], { id: 'another', followsTemplate: true })
  expect(started).toEqual([])
})
