import { describe, expect, test } from 'vitest'
import { textsOf } from '../../../test/support/parts.ts'
import {
  answer,
  ask,
  engineOver,
  eventsOf,
  failure,
  fine,
  knownEngine,
  refusing,
  upstream,
} from '../../../test/support/upstream/remote-engine.ts'
import { type Answer, chatChunk, doneLine, streamOf, usageChunk } from '../../../test/support/upstream/upstream.ts'

const whole = (reply: unknown) => refusing(200, JSON.stringify(reply))

describe('a server that ignores n', () => {
  const one: Answer = streamOf(
    chatChunk({ delta: { content: 'a' } }),
    chatChunk({ delta: {}, finish_reason: 'stop' }),
    usageChunk(5, 1),
    doneLine,
  )

  test('a server that ignores n is asked again for the choices that it left out', async () => {
    const server = await upstream(one)
    const { choices, usage } = await answer(engineOver([server]), ask('hi', { choices: 3 }))
    expect(choices.map(({ finish }) => finish.reason)).toEqual(['stop', 'stop', 'stop'])
    expect(server.seen.map(({ body }) => body.n)).toEqual([3, undefined, undefined])
    expect(usage).toMatchObject({ inputTokens: 5, outputTokens: 3 })
  })

  test('a server that ignores n is asked with another seed for each of them', async () => {
    const server = await upstream(one)
    await answer(engineOver([server]), ask('hi', { choices: 3, sampling: { seed: 7 } }))
    expect(server.seen.map(({ body }) => body.seed)).toEqual([7, 8, 9])
  })

  test('a server that ignores n may also answer with a whole reply', async () => {
    const server = await upstream(whole({ choices: [{ message: { content: 'a' }, finish_reason: 'stop' }] }))
    expect(textsOf(await answer(engineOver([server]), ask('hi', { choices: 2 })))).toEqual(['a', 'a'])
  })
})

describe('a reply that is none', () => {
  test.each<[string, Answer, number]>([
    ['null', whole(null), 2],
    ['a list', whole([]), 2],
    ['no choices', whole({ choices: [] }), 2],
    ['a page', refusing(200, '<html><title>Hello</title></html>'), 2],
    ['a stream of null', streamOf('data: null\n\n'), 2],
    ['an empty stream', streamOf(doneLine), 2],
    ['text without a finish reason', streamOf(chatChunk({ delta: { content: 'Hel' } }), doneLine), 1],
    ['a whole reply without a finish reason', whole({ choices: [{ message: { content: 'Hel' } }] }), 1],
  ])('%s is a failure of the server, after few attempts', async (_, reply, attempts) => {
    const server = await upstream(reply)
    expect(await failure(engineOver([server]))).toMatchObject({ code: 'upstream-failed' })
    expect(server.seen).toHaveLength(attempts)
  })

  test.each<[string, Answer]>([
    ['no finish reason', streamOf(chatChunk({ delta: { content: 'Hel' } }), doneLine)],
    ['no choices', whole({ choices: [] })],
  ])('%s, however often, closes the server to nobody', async (_, reply) => {
    const server = await upstream(({ body }, response) => {
      const isInnocent = JSON.stringify(body.messages).includes('innocent')
      return (isInnocent ? fine : reply)({} as never, response)
    })
    const engine = engineOver([server])
    for (let turn = 0; turn < 6; turn++) await failure(engine)
    expect(engine.capabilities.fleet?.replicas()).toMatchObject([{ state: 'healthy' }])
    expect(textsOf(await answer(engine, ask('innocent')))).toEqual(['ok'])
  })

  test('an error that is nested very deeply is a failure of the server', async () => {
    const deep = `${'{"error":'.repeat(5000)}"x"${'}'.repeat(5000)}`
    const server = await upstream(refusing(500, deep))
    expect((await failure(engineOver([server]))).code).toBe('upstream-failed')
    server.answer = streamOf(`data: ${deep}\n\n`)
    expect((await failure(engineOver([server]))).code).toBe('upstream-failed')
  })

  test('numbers that no vector holds are a failure of the server', async () => {
    const server = await upstream(refusing(200, '{"data":[{"embedding":[1e39,0.5]}]}'))
    const embedding = engineOver([server]).capabilities.embedder?.embed(
      [{ type: 'text', text: 'a' }],
      new AbortController().signal,
    )
    await expect(embedding).rejects.toMatchObject({ code: 'upstream-failed' })
  })
})

describe('another Dragoman that has repeated the request already', () => {
  const said = (code: string) => JSON.stringify({ error: { message: 'no call was made', type: 'server_error', code } })
  test.each<[string, Answer, string]>([
    ['invalid output', refusing(502, said('invalid_output')), 'invalid-output'],
    ['invalid output, in a stream', streamOf(`data: ${said('invalid_output')}\n\n`), 'invalid-output'],
    ['a failure of its servers', refusing(502, said('upstream_failed')), 'upstream-failed'],
    ['a failure of its servers, in a stream', streamOf(`data: ${said('upstream_failed')}\n\n`), 'upstream-failed'],
  ])('the other Dragoman is asked once, says %s, and stays healthy', async (_, reply, code) => {
    const server = await upstream(reply, { ownedBy: 'dragoman' })
    const engine = engineOver([server])
    for (let turn = 0; turn < 5; turn++) expect(await failure(engine)).toMatchObject({ code })
    expect(server.seen.filter(({ path }) => path.endsWith('/completions'))).toHaveLength(5)
    expect(engine.capabilities.fleet?.replicas()).toMatchObject([{ state: 'healthy' }])
  })

  test('the other Dragoman is not asked again, but a sound one is', async () => {
    const failing = await upstream(refusing(502, said('upstream_failed')), { ownedBy: 'dragoman' })
    const sound = await upstream(fine, { ownedBy: 'dragoman' })
    const engine = await knownEngine([failing, sound])
    for (let turn = 0; turn < 4; turn++) expect(textsOf(await answer(engine, ask(`hi ${turn}`)))).toEqual(['ok'])
  })
})

describe('an output limit that the server ignores', () => {
  const pieces = ['one ', 'two ', 'three ', 'four ', 'five ', 'six ', 'seven ', 'eight ']
  const ignoring = (...ends: string[]) =>
    streamOf(
      ...pieces.map((content) => chatChunk({ delta: { content } })),
      chatChunk({ delta: {}, finish_reason: 'stop' }),
      ...ends,
    )

  test.each<[string, Answer]>([
    ['without usage', ignoring(doneLine)],
    ['with usage at the end', ignoring(usageChunk(3, 8), doneLine)],
  ])('the output limit is kept here, %s', async (_, reply) => {
    const { choices, usage } = await answer(engineOver([await upstream(reply)]), ask('hi', { maxOutputTokens: 2 }))
    expect(choices).toMatchObject([{ parts: [{ text: 'one two ' }], finish: { reason: 'length' } }])
    expect(usage.outputTokens).toBe(2)
  })

  test('the output limit ends an endless reply', async () => {
    const server = await upstream((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const timer = setInterval(() => response.write(chatChunk({ delta: { content: 'x ' } }).repeat(20)), 1)
      response.once('close', () => clearInterval(timer))
    })
    const { choices } = await answer(engineOver([server]), ask('hi', { maxOutputTokens: 3 }))
    expect(choices).toMatchObject([{ parts: [{ text: 'x x x ' }], finish: { reason: 'length' } }])
  })

  test('the output limit is counted by the server that counts as it goes', async () => {
    const counted = pieces.map((content, index) =>
      chatChunk({ delta: { content } }, { usage: { prompt_tokens: 3, completion_tokens: 2 * (index + 1) } }),
    )
    const server = await upstream(streamOf(...counted, doneLine), { ownedBy: 'vllm' })
    const { choices } = await answer(engineOver([server]), ask('hi', { maxOutputTokens: 4 }))
    expect(choices).toMatchObject([{ parts: [{ text: 'one two ' }], finish: { reason: 'length' } }])
  })

  test.each([
    ['reasoning', { reasoning_content: 'hm ' }, { type: 'reasoning', text: 'hm hm ' }],
    ['text', { content: 'hm ' }, { type: 'text', text: 'hm hm ' }],
  ])('the output limit counts %s', async (_, delta, part) => {
    const reply = streamOf(...Array(5).fill(chatChunk({ delta })), chatChunk({ delta: {}, finish_reason: 'stop' }), doneLine)
    const { choices } = await answer(engineOver([await upstream(reply)]), ask('hi', { maxOutputTokens: 2 }))
    expect(choices).toMatchObject([{ parts: [part], finish: { reason: 'length' } }])
  })

  test('cuts a whole reply by the share that its usage names', async () => {
    const usage = { prompt_tokens: 3, completion_tokens: 8 }
    const reply = whole({ choices: [{ message: { content: 'abcdefgh' }, finish_reason: 'stop' }], usage })
    const { choices } = await answer(engineOver([await upstream(reply)]), ask('hi', { maxOutputTokens: 2 }))
    expect(choices).toMatchObject([{ parts: [{ text: 'ab' }], finish: { reason: 'length' } }])
  })

  test.each([
    ['its usage', 'stop', usageChunk(3, 2)],
    ['its finish reason', 'length', ''],
  ])('the output limit leaves a reply alone whose server cuts tokens into pieces, by %s', async (_, finishReason, end) => {
    const letters = [...'Hello'].map((content) => chatChunk({ delta: { content } }))
    const reply = streamOf(...letters, chatChunk({ delta: {}, finish_reason: finishReason }), end, doneLine)
    const result = await answer(engineOver([await upstream(reply)]), ask('hi', { maxOutputTokens: 2 }))
    expect(result.choices).toMatchObject([{ parts: [{ text: 'Hello' }], finish: { reason: finishReason } }])
  })
})

describe("the caller's words", () => {
  const forwarded = {
    user: 'u',
    safetyIdentifier: 's',
    serviceTier: 'flex',
    promptCacheKey: 'k',
    promptCacheRetention: '24h',
    metadata: { a: 'b' },
  } as const
  const wire = {
    user: 'u',
    safety_identifier: 's',
    service_tier: 'flex',
    prompt_cache_key: 'k',
    prompt_cache_retention: '24h',
    metadata: { a: 'b' },
  }

  test.each([
    ['someone', wire],
    ['dragoman', wire],
    ['vllm', {}],
  ])("the caller's words for the server that generates reach one of %s", async (ownedBy, wanted) => {
    const server = await upstream(fine, { ownedBy })
    await answer(engineOver([server]), ask('hi', { forwarded }))
    const body = server.seen[0]?.body ?? {}
    expect(Object.fromEntries(Object.entries(body).filter(([name]) => name in wire))).toEqual(wanted)
  })

  const chatWith = (templateVariables: Record<string, unknown>) => {
    const request = ask('hi')
    return { ...request, prompt: { ...request.prompt, templateVariables } } as typeof request
  }

  test("the caller's words on verbosity reach a server that knows the field", async () => {
    const server = await upstream(fine)
    await answer(engineOver([server]), chatWith({ verbosity: 'low' }))
    expect(server.seen[0]?.body).toMatchObject({ verbosity: 'low' })
  })

  test.each([
    ['library', { verbosity: 'low' }, ['prompt', 'templateVariables', 'verbosity']],
    ['someone', { verbosity: 'low', other: 1 }, ['prompt', 'templateVariables']],
  ])("the caller's words are refused by a server of %s that cannot use %j", async (ownedBy, variables, at) => {
    const error = await failure(engineOver([await upstream(fine, { ownedBy })]), chatWith(variables))
    expect(error).toMatchObject({ code: 'unsupported-field', at })
  })

  test.each([true, false])('strict: %s of a schema stays', async (strict) => {
    const server = await upstream(streamOf(chatChunk({ delta: { content: '{"a":1}' }, finish_reason: 'stop' }), doneLine))
    const schema = { type: 'object', properties: { a: { type: 'integer' } } }
    await answer(engineOver([server]), ask('hi', { output: { type: 'json-schema', schema, strict } }))
    expect(server.seen[0]?.body).toMatchObject({ response_format: { json_schema: { strict } } })
  })
})

describe('log-probabilities', () => {
  test('a bare number belongs to the token of its chunk', async () => {
    const chunk = (content: string, logprob: number) =>
      chatChunk({ delta: { content, token_id: 7 }, text: content, logprobs: logprob })
    const reply = streamOf(chunk('Hi', -0.5), chunk(' you', 0), chatChunk({ delta: {}, finish_reason: 'stop' }), doneLine)
    const { choices } = await answer(engineOver([await upstream(reply)]), ask('hi', { logprobs: { top: 0 } }))
    expect(choices[0]?.parts).toEqual([{ type: 'text', text: 'Hi you' }])
    expect(choices[0]?.tokens).toMatchObject([
      { id: 7, text: 'Hi', logprob: -0.5, top: [] },
      { id: 7, text: ' you', logprob: 0, top: [] },
    ])
  })

  test.each(['id', 'token_id'])('%s of a token in the form of chats is its id', async (name) => {
    const logprobs = { content: [{ token: 'Hi', [name]: 7, logprob: -0.5, top_logprobs: [{ token: 'Ho', logprob: -1 }] }] }
    const reply = streamOf(chatChunk({ delta: { content: 'Hi' }, logprobs, finish_reason: 'stop' }), doneLine)
    const { choices } = await answer(engineOver([await upstream(reply)]), ask('hi', { logprobs: { top: 1 } }))
    expect(choices[0]?.tokens).toMatchObject([{ id: 7, top: [{ id: -1 }] }])
  })

  test('a reply without those that were asked for is an error that names the field', async () => {
    const error = await failure(engineOver([await upstream(fine)]), ask('hi', { logprobs: { top: 1 } }))
    expect(error).toMatchObject({ code: 'upstream-failed', at: ['logprobs'] })
  })
})

describe('errors of a server', () => {
  const message = 'Your input exceeds the context window of this model.'
  test.each<[string, Answer]>([
    ['as a status', refusing(400, JSON.stringify({ error: { message, code: 'context_length_exceeded' } }))],
    ['in a stream', streamOf(`data: ${JSON.stringify({ error: { message, code: 'context_length_exceeded' } })}\n\n`)],
  ])('a code for a prompt that is too long decides, %s', async (_, reply) => {
    expect(await failure(engineOver([await upstream(reply)]))).toMatchObject({ code: 'context-length-exceeded', message })
  })

  test('the field that a server names is passed on', async () => {
    const error = { message: 'too hot', type: 'invalid_request_error', param: 'temperature' }
    expect(await failure(engineOver([await upstream(refusing(400, JSON.stringify({ error })))]))).toMatchObject({
      param: 'temperature',
    })
    error.param = 'max_completion_tokens'
    expect(await failure(engineOver([await upstream(refusing(400, JSON.stringify({ error })))]))).toMatchObject({
      at: ['maxOutputTokens'],
    })
  })
})

describe('a reply that is larger than any request needs', () => {
  const call = (index: number, more: object) => ({ tool_calls: [{ index, id: `call_${index}`, function: more }] })
  const weather = { name: 'get_weather', parameters: { type: 'object' } }
  const endless =
    (delta: (index: number) => object): Answer =>
    (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      let index = 0
      const write = () => {
        while (!response.destroyed && response.write(chatChunk({ delta: delta(index++) })));
      }
      response.on('drain', write)
      write()
    }

  test.each<[string, Answer]>([
    ['open calls', endless((index) => call(index, { name: 'get_w', arguments: '' }))],
    ['calls', endless((index) => call(index, { name: 'get_weather', arguments: '{}' }))],
    ['fragments of one call', endless(() => call(0, { name: '', arguments: 'x'.repeat(60_000) }))],
    ['values', whole({ choices: [{ message: { content: Array(150_000).fill({ type: 'x', a: [[], []] }) } }] })],
    ['citations', endless(() => ({ annotations: Array(2000).fill({ url_citation: { url: 'http://a.example' } }) }))],
  ])('endless %s fail the request once, and do not count against the server', async (_, reply) => {
    const server = await upstream(reply)
    const engine = engineOver([server])
    expect(await failure(engine, ask('hi', {}, [weather]))).toMatchObject({ code: 'upstream-failed' })
    expect(server.seen).toHaveLength(1)
    expect(engine.capabilities.fleet?.replicas()).toMatchObject([{ state: 'healthy' }])
  })

  test('a list of many models is named in part', async () => {
    const server = await upstream(fine)
    server.get = (_, response) => {
      response.end(JSON.stringify({ data: Array.from({ length: 5000 }, (__, id) => ({ id: `model-${id}${'x'.repeat(200)}` })) }))
      return true
    }
    const { message } = await failure(engineOver([server]))
    expect(message).toContain('and 4980 more')
    expect(message.length).toBeLessThan(4000)
  })

  test('a long text arrives whole, in a stream and not in one', async () => {
    const content = 'Ünïcode "quoted" \\n\n'.repeat(30_000)
    const streamed = await upstream(
      streamOf(chatChunk({ delta: { content } }), chatChunk({ delta: {}, finish_reason: 'stop' }), doneLine),
    )
    expect(textsOf(await answer(engineOver([streamed]), ask('hi')))[0] === content).toBe(true)
    const atOnce = await upstream(whole({ choices: [{ message: { content, reasoning: content }, finish_reason: 'stop' }] }))
    const { choices } = await answer(engineOver([atOnce]), ask('hi'))
    expect(choices[0]?.parts.map((part) => (part.type === 'text' || part.type === 'reasoning') && part.text === content)).toEqual(
      [true, true],
    )
  })
})

test('embeddings of a server that makes none are refused by name, and do not count against it', async () => {
  const text = 'This server does not support embeddings. Start it with `--embeddings`'
  const server = await upstream(
    refusing(501, JSON.stringify({ error: { code: 501, message: text, type: 'not_supported_error' } })),
    {
      ownedBy: 'llamacpp',
    },
  )
  const engine = engineOver([server])
  const embedding = engine.capabilities.embedder?.embed([{ type: 'text', text: 'a' }], new AbortController().signal)
  await expect(embedding).rejects.toMatchObject({
    code: 'unsupported-field',
    at: ['model'],
    message: expect.stringContaining(text),
  })
  expect(server.seen).toHaveLength(1)
  expect(engine.capabilities.fleet?.replicas()).toMatchObject([{ state: 'healthy' }])
})

test('a refusal among the parts of a content is a refusal', async () => {
  const content = [
    { type: 'text', text: 'Well. ' },
    { type: 'refusal', refusal: 'I cannot.' },
  ]
  const events = []
  const reply = whole({ choices: [{ message: { content }, finish_reason: 'stop' }] })
  for await (const event of eventsOf(engineOver([await upstream(reply)]), ask('hi'))) events.push(event)
  expect(events).toContainEqual({ type: 'refusal-delta', choice: 0, delta: 'I cannot.' })
})
