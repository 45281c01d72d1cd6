import LlamaStackClient from 'llama-stack-client'
import OldClient from 'llama-stack-client-0.2'
import LaterClient from 'llama-stack-client-0.3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { builtinModel } from '../../../src/registry/names/builtin-model.ts'
import { type RunningApp, startApp } from '../../support/http/app.ts'

let app: RunningApp
beforeAll(async () => {
  app = await startApp({
    storage: {},
    models: [
      { id: 'tiny', engine: 'llama', source: builtinModel.path, threads: 1, defaults: { temperature: 0 } },
      { id: 'org/scripted', engine: 'fake', script: 'from-request' },
    ],
  })
})
afterAll(() => app.close())

const weather = {
  tool_name: 'get_weather',
  description: 'The weather of a city.',
  parameters: { city: { param_type: 'str', description: 'The city.' } },
}
const question = { role: 'user' as const, content: 'What is the weather in Paris?' }

/** The versions whose inference routes are llama-stack's own. Their types are the same. */
const ownVersions = { '0.2.23': OldClient, '0.3.0': LaterClient as unknown as typeof OldClient }

describe.each(Object.entries(ownVersions))('llama-stack-client %s', (_, Client) => {
  const open = () => new Client({ baseURL: app.url, maxRetries: 0 })

  test('a chat completion, and a stream of the same text', async () => {
    const client = open()
    const request = {
      model_id: 'tiny',
      messages: [question],
      sampling_params: { strategy: { type: 'greedy' as const }, max_tokens: 20 },
    }
    const whole = await client.inference.chatCompletion(request)
    expect(whole.completion_message.role).toBe('assistant')
    expect(whole.metrics?.map(({ metric }) => metric)).toEqual([
      'prompt_tokens',
      'completion_tokens',
      'total_tokens',
      'cached_prompt_tokens',
    ])
    let text = ''
    const types: string[] = []
    const stops: (string | undefined)[] = []
    for await (const { event } of await client.inference.chatCompletion({ ...request, stream: true })) {
      types.push(event.event_type)
      stops.push(event.stop_reason)
      if (event.delta.type === 'text') text += event.delta.text
    }
    expect(text).toBe(whole.completion_message.content)
    expect([types[0], ...new Set(types.slice(1, -1)), types.at(-1)]).toEqual(['start', 'progress', 'complete'])
    expect(stops.at(-1)).toBe(whole.completion_message.stop_reason)
  })

  test('a required call in pieces, its result, and an answer', async () => {
    const client = open()
    const request = {
      model_id: 'tiny',
      messages: [question],
      tools: [weather],
      sampling_params: { strategy: { type: 'greedy' as const }, max_tokens: 100 },
    }
    const statuses: string[] = []
    let call: OldClient.ToolCall | undefined
    let stopReason: string | undefined
    const stream = await client.inference.chatCompletion({
      ...request,
      tool_config: { tool_choice: 'get_weather' },
      stream: true,
    })
    for await (const { event } of stream) {
      stopReason = event.stop_reason
      if (event.delta.type !== 'tool_call') continue
      statuses.push(event.delta.parse_status)
      if (typeof event.delta.tool_call === 'object') call = event.delta.tool_call
    }
    expect([...new Set(statuses)]).toEqual(['started', 'in_progress', 'succeeded'])
    expect(call).toMatchObject({ tool_name: 'get_weather', arguments: { city: expect.any(String) } })
    expect(stopReason).toBe('end_of_message')
    const answered = await client.inference.chatCompletion({
      ...request,
      messages: [
        question,
        { role: 'assistant', content: '', stop_reason: 'end_of_message', tool_calls: call === undefined ? [] : [call] },
        { role: 'tool', call_id: call?.call_id ?? '', content: '21 degrees, sunny' },
      ],
    })
    expect(answered.completion_message.content).not.toBe('')
  })

  test.each(['json', 'function_tag', 'python_list'] as const)('a call in the format %s', async (tool_prompt_format) => {
    const { completion_message: message } = await open().inference.chatCompletion({
      model_id: 'tiny',
      messages: [question],
      tools: [weather],
      tool_config: { tool_choice: 'required', tool_prompt_format },
      sampling_params: { strategy: { type: 'greedy' }, max_tokens: 200 },
    })
    // The toy model goes on calling.
    expect(message.tool_calls?.[0]).toMatchObject({ tool_name: 'get_weather', arguments: { city: expect.any(String) } })
  })

  test('completions, whole and streamed, with log-probabilities', async () => {
    const client = open()
    const request = {
      model_id: 'tiny',
      content: 'The weather in Paris',
      sampling_params: { strategy: { type: 'greedy' as const }, max_tokens: 8 },
      logprobs: { top_k: 2 },
    }
    const whole = await client.inference.completion(request)
    expect(whole.stop_reason).toMatch(/^(out_of_tokens|end_of_turn)$/)
    expect(whole.logprobs?.length).toBeGreaterThan(0)
    const deltas: unknown[] = []
    for await (const chunk of await client.inference.completion({ ...request, stream: true })) {
      deltas.push('delta' in chunk ? chunk.delta : '')
    }
    expect(deltas.join('')).toBe(whole.content)
  })

  test('a form for the answer', async () => {
    const { completion_message: message } = await open().inference.chatCompletion({
      model_id: 'tiny',
      messages: [question],
      response_format: {
        type: 'json_schema',
        json_schema: {
          type: 'object',
          properties: { sunny: { type: 'boolean' } },
          required: ['sunny'],
          additionalProperties: false,
        },
      },
      sampling_params: { strategy: { type: 'greedy' }, max_tokens: 100 },
    })
    expect(JSON.parse(String(message.content))).toEqual({ sunny: expect.any(Boolean) })
  })

  test('embeddings and batches', async () => {
    const client = open()
    const { embeddings } = await client.inference.embeddings({ model_id: 'org/scripted', contents: ['a', 'b'] })
    expect(embeddings).toHaveLength(2)
    const { batch } = await client.inference.batchCompletion({ model_id: 'org/scripted', content_batch: ['a', 'b'] })
    expect(batch).toHaveLength(2)
    const chats = await client.inference.batchChatCompletion({
      model_id: 'org/scripted',
      messages_batch: [[{ role: 'user', content: 'one' }], [{ role: 'user', content: 'two' }]],
    })
    expect(chats.batch.map(({ completion_message: { content } }) => content)).toEqual(['one', 'two'])
  })

  test('models, providers, routes, health and version', async () => {
    const client = open()
    const models = await client.models.list()
    expect(models.map(({ identifier }) => identifier)).toEqual(['tiny', 'org/scripted'])
    expect(await client.models.retrieve('org/scripted')).toMatchObject({
      type: 'model',
      model_type: 'llm',
      provider_id: 'org/scripted',
    })
    expect((await client.models.openai.list()).map(({ id }) => id)).toEqual(['tiny', 'org/scripted'])
    expect(await client.providers.retrieve('tiny')).toMatchObject({ api: 'inference', health: { status: 'OK' } })
    expect(await client.providers.list()).toHaveLength(2)
    expect((await client.routes.list()).map(({ route }) => route)).toContain('/v1/inference/chat-completion')
    expect(await client.inspect.health()).toEqual({ status: 'OK' })
    expect(await client.inspect.version()).toEqual({ version: expect.any(String) })
  })

  test('failures are what the client knows them as', async () => {
    const client = open()
    const ask = (fields: object) => client.inference.chatCompletion({ model_id: 'tiny', messages: [question], ...fields })
    await expect(ask({ model_id: 'other' })).rejects.toBeInstanceOf(Client.NotFoundError)
    await expect(ask({ messages: [] })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('at least one message'),
    })
    await expect(client.models.register({ model_id: 'x' })).rejects.toMatchObject({
      status: 405,
      message: expect.stringContaining('configuration'),
    })
    await expect(client.inference.rerank({ model: 'tiny', query: 'a', items: ['b'] })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('ranking head'),
    })
  })

  test('the routes of OpenAI', async () => {
    const client = open()
    const messages = [{ role: 'user' as const, content: 'one two' }]
    const reply = await client.chat.completions.create({ model: 'org/scripted', messages })
    expect(reply).toMatchObject({ choices: [{ message: { content: 'one two' }, finish_reason: 'stop' }] })
    let text = ''
    for await (const chunk of await client.chat.completions.create({ model: 'org/scripted', messages, stream: true })) {
      text += chunk.choices[0]?.delta.content ?? ''
    }
    expect(text).toBe('one two')
    expect(await client.completions.create({ model: 'org/scripted', prompt: 'one' })).toMatchObject({ object: 'text_completion' })
    expect((await client.embeddings.create({ model: 'org/scripted', input: 'one' })).data).toHaveLength(1)
  })

  test('stored chat completions and responses, in pages', async () => {
    const client = open()
    const ids: string[] = []
    for (const content of ['one', 'two', 'three']) {
      const request = { model: 'org/scripted', messages: [{ role: 'user' as const, content }], store: true }
      ids.push(((await client.chat.completions.create(request)) as { readonly id: string }).id)
      ids.push((await client.responses.create({ model: 'org/scripted', input: content, store: true })).id)
    }
    const found: string[] = []
    for await (const completion of client.chat.completions.list({ model: 'org/scripted', limit: 2 })) {
      expect(completion.input_messages[0]).toMatchObject({ role: 'user', content: completion.choices[0]?.message.content })
      found.push(completion.id)
    }
    for await (const { id } of client.responses.list({ model: 'org/scripted', limit: 2 })) found.push(id)
    for (const id of ids) expect(found.filter((each) => each === id)).toHaveLength(1)
    expect(await client.chat.completions.retrieve(ids[0] ?? '')).toMatchObject({
      choices: [{ message: { content: 'one' } }],
      input_messages: [{ role: 'user', content: 'one' }],
    })
  })
})

describe('llama-stack-client 0.7.3, which speaks as OpenAI does', () => {
  const open = () => new LlamaStackClient({ baseURL: app.url, maxRetries: 0 })

  test('chat completions, whole and streamed, completions and embeddings', async () => {
    const client = open()
    const messages = [{ role: 'user' as const, content: 'one two' }]
    const whole = await client.chat.completions.create({ model: 'org/scripted', messages })
    expect(whole).toMatchObject({ choices: [{ message: { content: 'one two' } }] })
    let text = ''
    for await (const chunk of await client.chat.completions.create({ model: 'org/scripted', messages, stream: true })) {
      text += chunk.choices[0]?.delta.content ?? ''
    }
    expect(text).toBe('one two')
    expect(await client.completions.create({ model: 'org/scripted', prompt: 'one' })).toMatchObject({ object: 'text_completion' })
    expect((await client.embeddings.create({ model: 'org/scripted', input: 'one' })).data).toHaveLength(1)
  })

  test('stored chat completions', async () => {
    const client = open()
    const messages = [{ role: 'user' as const, content: 'kept' }]
    const stream = await client.chat.completions.create({ model: 'org/scripted', messages, store: true, stream: true })
    let id = ''
    for await (const chunk of stream) id = chunk.id
    const stored = { id, choices: [{ message: { content: 'kept' } }], input_messages: messages }
    expect(await client.chat.completions.retrieve(id)).toMatchObject(stored)
    const { data } = await client.chat.completions.list({ model: 'org/scripted', order: 'desc', limit: 1 })
    expect(data).toMatchObject([stored])
  })

  test('responses, whole and streamed', async () => {
    const client = open()
    const request = { model: 'org/scripted', input: 'one two', store: false }
    const whole = await client.responses.create(request)
    expect(whole).toMatchObject({ object: 'response', status: 'completed', output: [{ content: [{ text: 'one two' }] }] })
    const types: string[] = []
    for await (const event of await client.responses.create({ ...request, stream: true })) types.push(String(event.type))
    expect([types[0], types.at(-1)]).toEqual(['response.created', 'response.completed'])
  })

  test('models, providers and what the server is', async () => {
    const client = open()
    expect((await client.models.list()).map(({ id, object }) => [id, object])).toEqual([
      ['tiny', 'model'],
      ['org/scripted', 'model'],
    ])
    expect(await client.models.retrieve('tiny')).toMatchObject({ identifier: 'tiny', model_type: 'llm' })
    expect(await client.providers.list()).toHaveLength(2)
    expect(await client.inspect.health()).toEqual({ status: 'OK' })
  })

  test.each([
    ['moderations', (client: LlamaStackClient) => client.moderations.create({ input: 'a' }), 400],
    ['vector stores', (client: LlamaStackClient) => client.vectorStores.list(), 400],
    ['safety', (client: LlamaStackClient) => client.safety.runShield({ messages: [], shield_id: 'x' } as never), 501],
  ] as const)('%s are refused by name', async (_, ask, status) => {
    await expect(ask(open())).rejects.toMatchObject({ status, message: expect.stringContaining('Dragoman does not speak') })
  })
})
