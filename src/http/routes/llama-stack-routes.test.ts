import { describe, expect, test } from 'vitest'
import { openTestServer } from '../../../test/support/http/test-server.ts'
import { createFakeEngine } from '../../engine/fake/engine.ts'

const body = { model_id: 'default', messages: [{ role: 'user', content: 'one two three' }] }
const clients = {
  'llama-stack-client for JavaScript': { 'user-agent': 'LlamaStackClient/JS 0.3.0' },
  'llama-stack-client for Python': {
    'x-llamastack-client-version': '0.2.23',
    'user-agent': 'AsyncLlamaStackClient/Python 0.2.23',
  },
}
const stackClient = clients['llama-stack-client for JavaScript']

type Options = Parameters<typeof openTestServer>[0]

function open(options: Options = {}) {
  const { app } = openTestServer(options)
  return async (
    method: 'GET' | 'POST' | 'DELETE',
    url: string,
    { payload, headers = {} }: { payload?: object; headers?: object } = {},
  ) => {
    const reply = await app.inject({ method, url, headers: { ...headers }, ...(payload !== undefined && { payload }) })
    return { status: reply.statusCode, headers: reply.headers, text: reply.body, json: () => JSON.parse(reply.body) }
  }
}

describe('generating', () => {
  test('a chat completion, and a stream of the same text without [DONE]', async () => {
    const ask = open()
    const whole = (await ask('POST', '/v1/inference/chat-completion', { payload: body })).json()
    expect(whole).toMatchObject({ completion_message: { role: 'assistant', stop_reason: 'end_of_turn', tool_calls: [] } })
    const stream = await ask('POST', '/v1/inference/chat-completion', { payload: { ...body, stream: true } })
    expect(stream.headers['content-type']).toContain('text/event-stream')
    expect(stream.text).not.toMatch(/DONE|^event:/m)
    const events = stream.text
      .split('\n\n')
      .slice(0, -1)
      .map((frame) => JSON.parse(frame.slice('data: '.length)))
    expect(events.map(({ event }) => event.delta.text).join('')).toBe(whole.completion_message.content)
    expect([events[0].event.event_type, events.at(-1).event.event_type]).toEqual(['start', 'complete'])
    expect(events.at(-1).metrics).toEqual(whole.metrics)
  })

  test.each([
    ['/v1/inference/completion', { content: 'one two' }, { content: expect.any(String), stop_reason: 'end_of_turn' }],
    [
      '/v1/inference/embeddings',
      { contents: ['a', { type: 'text', text: 'b' }] },
      { embeddings: [expect.any(Array), expect.any(Array)] },
    ],
    ...['/v1/inference/batch-completion', '/v1/batch-inference/completion'].map(
      (path) =>
        [
          path,
          { content_batch: ['a', 'b'] },
          { batch: [{ stop_reason: 'end_of_turn' }, { stop_reason: 'end_of_turn' }] },
        ] as const,
    ),
    ...['/v1/inference/batch-chat-completion', '/v1/batch-inference/chat-completion'].map(
      (path) =>
        [
          path,
          { messages_batch: [body.messages, body.messages] },
          { batch: [{ completion_message: { role: 'assistant' } }, { completion_message: { role: 'assistant' } }] },
        ] as const,
    ),
  ] as const)('POST %s', async (path, fields, expected) => {
    const reply = await open()('POST', path, { payload: { model_id: 'default', ...fields } })
    expect([reply.status, reply.json()]).toMatchObject([200, expected])
  })

  test('unknown fields are listed', async () => {
    const reply = await open()('POST', '/v1/inference/chat-completion', { payload: { ...body, extra: 1 } })
    expect(reply.headers['x-dragoman-ignored']).toBe('extra')
    const embeddings = { model_id: 'default', contents: ['a'], extra: 1 }
    expect((await open()('POST', '/v1/inference/embeddings', { payload: embeddings })).headers['x-dragoman-ignored']).toBe(
      'extra',
    )
  })
})

describe('errors have the envelope of the protocol', () => {
  const errors = (...loc: (string | number)[]) => ({ error: { detail: { errors: [{ loc }] } } })
  test.each<[string, object, number, object]>([
    ['/v1/inference/chat-completion', { ...body, model_id: 'other' }, 404, errors('model_id')],
    ['/v1/inference/chat-completion', { ...body, messages: [] }, 400, errors('messages')],
    ['/v1/inference/chat-completion', { ...body, temperature: 1 }, 400, errors('temperature')],
    ['/v1/inference/completion', { model_id: 'default', content: 5 }, 400, errors('content')],
    ['/v1/inference/embeddings', { model_id: 'default', contents: ['a'], task_type: 'query' }, 400, errors('task_type')],
    [
      '/v1/inference/embeddings',
      { model_id: 'default', contents: ['a'], text_truncation: 'end' },
      400,
      errors('text_truncation'),
    ],
    ['/v1/inference/nothing', {}, 404, { error: { detail: expect.stringContaining('/v1/inference/nothing') } }],
  ])('POST %s %j', async (path, payload, status, expected) => {
    const reply = await open()('POST', path, { payload })
    expect([reply.status, reply.json()]).toMatchObject([status, expected])
  })

  test('a prompt that does not fit', async () => {
    const ask = open({ engine: createFakeEngine({ script: 'from-request', contextLength: 2 }) })
    expect(await ask('POST', '/v1/inference/chat-completion', { payload: body }).then(({ status }) => status)).toBe(400)
  })

  test('a failure in mid-stream is one frame, the last', async () => {
    const script = JSON.stringify({ chunks: ['one ', 'two'], failAfter: 1 })
    const payload = { model_id: 'default', messages: [{ role: 'user', content: script }], stream: true }
    const reply = await open()('POST', '/v1/inference/chat-completion', { payload })
    expect(reply.text.split('\n\n').at(-2)).toMatch(/^data: \{"error":\{"detail":/)
  })
})

describe('the models', () => {
  const model = { identifier: 'org/fake', provider_id: 'org/fake', type: 'model', model_type: 'llm' }

  test.each(Object.entries(clients))('have the form of %s', async (_, headers) => {
    const ask = open()
    const list = (await ask('GET', '/v1/models', { headers })).json()
    expect(list).toEqual({ data: [expect.objectContaining({ ...model, id: 'org/fake', object: 'model', owned_by: 'dragoman' })] })
    expect((await ask('GET', '/v1/models/org/fake', { headers })).json()).toMatchObject({
      ...model,
      metadata: { context_length: 100 },
    })
    const missing = await ask('GET', '/v1/models/other', { headers })
    expect([missing.status, missing.json()]).toMatchObject([404, { error: { detail: expect.anything() } }])
  })

  test('below the second prefix they have the form of OpenAI', async () => {
    const ask = open()
    for (const headers of [stackClient, {}]) {
      expect((await ask('GET', '/v1/openai/v1/models', { headers })).json()).toMatchObject({
        object: 'list',
        data: [{ id: 'org/fake' }],
      })
      expect((await ask('GET', '/v1/openai/v1/models/org/fake', { headers })).json()).not.toHaveProperty('identifier')
    }
  })

  test('other clients have their own forms', async () => {
    const ask = open()
    expect((await ask('GET', '/v1/models')).json().data[0]).not.toHaveProperty('identifier')
    const headers = { 'anthropic-version': '2023-06-01' }
    expect((await ask('GET', '/v1/models', { headers })).json().data[0]).toMatchObject({
      type: 'model',
      display_name: 'org/fake',
    })
  })

  test.each(['POST', 'DELETE'] as const)('are not registered over HTTP: %s', async (method) => {
    const ask = open()
    const url = method === 'POST' ? '/v1/models' : '/v1/models/org/fake'
    const reason = /registered or removed here: change `models` in the configuration/
    const refused = await ask(method, url, { headers: stackClient, ...(method === 'POST' && { payload: { model_id: 'x' } }) })
    expect([refused.status, refused.headers.allow]).toEqual([405, 'GET, HEAD'])
    expect(refused.json()).toEqual({ error: { detail: expect.stringMatching(reason) } })
    expect((await ask(method, url)).json().error).toMatchObject({
      code: 'method_not_allowed',
      message: expect.stringMatching(reason),
    })
  })
})

describe('the second prefix', () => {
  test.each([
    ['chat/completions', { messages: body.messages }, 'chat.completion'],
    ['completions', { prompt: 'one' }, 'text_completion'],
    ['embeddings', { input: 'one' }, 'list'],
  ])('POST /v1/openai/v1/%s', async (path, fields, object) => {
    const reply = await open()('POST', `/v1/openai/v1/${path}`, { payload: { model: 'default', ...fields } })
    expect([reply.status, reply.json()]).toMatchObject([200, { object }])
    const fault = await open()('POST', `/v1/openai/v1/${path}`, { payload: { model: 5 } })
    expect([fault.status, fault.json()]).toMatchObject([400, { error: { type: 'invalid_request_error' } }])
  })

  test.each([
    ['chat/completions', { messages: body.messages }],
    ['completions', { prompt: 'one two' }],
  ])('a stream of %s ends without [DONE], and is else the same', async (path, fields) => {
    const ask = open()
    const payload = { model: 'default', stream: true, stream_options: { include_usage: true }, ...fields }
    const [own, openai] = [await ask('POST', `/v1/openai/v1/${path}`, { payload }), await ask('POST', `/v1/${path}`, { payload })]
    const framesOf = (text: string) =>
      text.split('\n\n').map((frame) => frame.replace(/"id":"[^"]*"|"created":\d+|_ms":[\d.]+|_second":[\d.]+/g, ''))
    expect(framesOf(openai.text).at(-2)).toBe('data: [DONE]')
    expect(framesOf(own.text)).toEqual(framesOf(openai.text).toSpliced(-2, 1))
  })

  test('a stream that fails ends with the error', async () => {
    const messages = [{ role: 'user', content: JSON.stringify({ chunks: ['a', 'b'], failAfter: 1 }) }]
    const { text } = await open()('POST', '/v1/openai/v1/chat/completions', { payload: { messages, stream: true } })
    expect(text).toMatch(/^data: \{"error":[^\n]*\n\n$/m)
    expect(text).not.toContain('DONE')
  })
})

describe('what the server is', () => {
  test('health and version need no key', async () => {
    const hash = 'a'.repeat(64)
    const ask = open({ auth: { apiKeys: [{ hash, scopes: new Set(['inference']) }] } })
    expect((await ask('GET', '/v1/health')).json()).toEqual({ status: 'OK' })
    expect((await ask('GET', '/v1/version')).json()).toEqual({ version: expect.any(String) })
    const refused = await ask('GET', '/v1/providers')
    expect([refused.status, refused.json()]).toMatchObject([401, { error: { detail: expect.any(String) } }])
  })

  test('each model is a provider, whose health is the state of the model', async () => {
    const ask = open()
    const provider = { api: 'inference', provider_id: 'org/fake', provider_type: 'inline::dragoman', config: {} }
    expect((await ask('GET', '/v1/providers')).json()).toMatchObject({ data: [{ ...provider, health: { status: 'OK' } }] })
    expect((await ask('GET', '/v1/providers/org/fake')).json()).toMatchObject(provider)
    expect((await ask('GET', '/v1/providers/other')).status).toBe(404)
  })

  test('the routes are those that are served, with both prefixes', async () => {
    const { data } = (await open()('GET', '/v1/inspect/routes')).json()
    const all = data.map(({ method, route }: { method: string; route: string }) => `${method} ${route}`)
    expect(all).toEqual(
      expect.arrayContaining([
        'POST /v1/inference/chat-completion',
        'POST /v1/openai/v1/chat/completions',
        'GET /v1/openai/v1/models/{id}',
        'POST /v1/messages',
      ]),
    )
    expect(all).not.toContain('POST /v1/models')
    expect(all).not.toContain('PUT /v1/models')
  })
})
