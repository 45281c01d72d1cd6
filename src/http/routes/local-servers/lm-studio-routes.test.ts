import { describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../../../../test/support/http/app.ts'
import { startLoadingApp } from '../../../../test/support/http/loading-app.ts'
import { openResponsesServer } from '../../../../test/support/http/responses-server.ts'
import { openTestServer, type TestServerOptions } from '../../../../test/support/http/test-server.ts'
import { openHub } from '../../../../test/support/upstream/hub.ts'
import type { ServerTool } from '../../../contract/server-tool.ts'
import { createFakeEngine } from '../../../engine/fake/engine.ts'
import { parseScriptFile } from '../../../engine/fake/script.ts'
import { SourceToolBox } from '../../../tools/tool-box.ts'

type Frame = { readonly type: string; readonly [key: string]: unknown }
/** Of any of the routes. */
type Body = {
  readonly job_id: string
  readonly status: string
  readonly downloaded_bytes: number
  readonly models: readonly { readonly key: string; readonly loaded_instances: readonly object[] }[]
  readonly error: { readonly type: string; readonly param: string }
}
type Answer = { readonly response_id?: string; readonly output: readonly object[]; readonly stats: object }

/** The data of a stream's events, whose names are those of their types. */
function framesOf(text: string): readonly Frame[] {
  const frames = [...text.matchAll(/^event: (.*)\ndata: (.*)\n\n/gm)].map(
    ([, name, json = '']) => [name, JSON.parse(json)] as const,
  )
  for (const [name, { type }] of frames) expect(type).toBe(name)
  return frames.map(([, frame]) => frame)
}

async function openChats(options: Partial<TestServerOptions> = {}) {
  const server = await openResponsesServer(options)
  const chat = (body: object) => server.call('POST', '/api/v1/chat', { model: 'default', ...body })
  return { ...server, chat, answer: async (body: object) => (await chat(body)).body as Answer }
}

describe("LM Studio's chat", () => {
  test('is stored, and continued with its system prompt, also by a response', async () => {
    const { answer, create, seen } = await openChats()
    const { response_id: id, output, stats } = await answer({ input: 'one two', system_prompt: 'Be brief.' })
    expect([output, stats]).toEqual([
      [{ type: 'message', content: 'one two' }],
      expect.objectContaining({
        total_output_tokens: 2,
        stop_reason: 'eosFound',
        time_to_first_token_seconds: expect.any(Number),
      }),
    ])
    const { response_id: second } = await answer({ input: [{ type: 'text', content: 'three' }], previous_response_id: id })
    const history = ['system: Be brief.', 'user: one two', 'assistant: one two', 'user: three']
    expect(seen.at(-1)).toEqual(history)
    await create({ input: 'four', previous_response_id: second })
    expect(seen.at(-1)).toEqual([...history, 'assistant: three', 'user: four'])
  })

  test('has no response_id, and cannot be continued, where it is not stored', async () => {
    const { answer, call } = await openChats()
    expect(await answer({ input: 'one', store: false })).not.toHaveProperty('response_id')
    const { body } = await call('GET', '/v1/responses')
    expect(body).toMatchObject({ data: [] })
    const { app } = openTestServer()
    const reply = await app.inject({ method: 'POST', url: '/api/v1/chat', payload: { model: 'default', input: 'one' } })
    expect([reply.statusCode, reply.json().response_id]).toEqual([200, undefined])
  })

  test('streams named events, and the whole answer at the end', async () => {
    const tags = { open: '<think>', close: '</think>' }
    const engine = createFakeEngine({
      script: parseScriptFile('- reply: { raw: "<think>so</think>one two" }', 'script'),
      reasoningTags: tags,
    })
    const { chat } = await openChats({ engine })
    const { text, headers } = await chat({ input: 'go', stream: true, flavour: 1 })
    expect(headers['x-dragoman-ignored']).toBe('flavour')
    const frames = framesOf(text)
    const types = frames.map(({ type }) => type).filter((type, index, all) => type !== all[index - 1])
    expect(types).toEqual([
      'chat.start',
      ...['start', 'progress', 'end'].map((step) => `prompt_processing.${step}`),
      ...['start', 'delta', 'end'].map((step) => `reasoning.${step}`),
      ...['start', 'delta', 'end'].map((step) => `message.${step}`),
      'chat.end',
    ])
    expect(frames.at(-1)).toMatchObject({
      result: {
        model_instance_id: 'org/fake',
        output: [
          { type: 'reasoning', content: 'so' },
          { type: 'message', content: 'one two' },
        ],
        response_id: expect.stringMatching(/^resp_/),
      },
    })
  })

  test('that fails later has an error event, and still its end with what there is', async () => {
    const script = '- reply: { raw: one two three, failAfter: 2 }'
    const { chat } = await openChats({ engine: createFakeEngine({ script: parseScriptFile(script, 'script') }) })
    const frames = framesOf((await chat({ input: 'go', stream: true })).text)
    expect(frames.slice(-3)).toMatchObject([
      { type: 'message.end' },
      { type: 'error', error: { type: 'internal_error', message: expect.any(String) } },
      { type: 'chat.end', result: { output: [{ type: 'message', content: expect.stringContaining('one') }] } },
    ])
  })

  test.each([
    [{ input: undefined }, 'input', 'missing_required_parameter'],
    [{ previous_response_id: 'abc' }, 'previous_response_id', 'invalid_request'],
    [{ previous_response_id: 'resp_no' }, 'previous_response_id', 'previous_response_not_found'],
    [{ reasoning: 'extreme' }, 'reasoning', 'invalid_request'],
    [{ reasoning: 'high' }, 'reasoning', 'unsupported_field'],
    [{ context_length: 101 }, 'context_length', 'invalid_request'],
    [{ integrations: ['mcp/example'] }, 'integrations', 'unsupported_field'],
    [{ integrations: [{ type: 'plugin', id: 'lmstudio/js-code' }] }, 'integrations[0].id', 'unsupported_field'],
  ])('refuses %j by the name %s', async (body, param, code) => {
    const { chat } = await openChats()
    const { status, body: reply } = await chat({ input: 'a', ...body })
    const error = { type: 'invalid_request', param, message: expect.not.stringContaining('tools['), code }
    expect([status >= 400 && status < 500, reply]).toMatchObject([true, { error }])
  })

  test('shows the calls of MCP servers with their results, in the order of the answer', async () => {
    const script = `
- result: sunny
  reply: { raw: It is sunny. }
- reply: { raw: 'Let me look.<tool_call>{"name":"weather__now","arguments":{"city":"Oslo"}}</tool_call>' }
`
    const tool: ServerTool = {
      name: 'weather__now',
      kind: 'mcp',
      mcp: { server: 'weather', name: 'now' },
      description: 'Tells the weather.',
      parameters: {},
      run: async () => ({ text: 'sunny', isError: false }),
    }
    const source = { list: () => ({ tools: [tool], absent: [] }), close: async () => undefined }
    const { answer, chat } = await openChats({
      engine: createFakeEngine({ script: parseScriptFile(script, 'script'), toolFormat: 'hermes' }),
      tools: new SourceToolBox([source], ['weather']),
    })
    const call = { tool: 'now', arguments: { city: 'Oslo' }, provider_info: { type: 'plugin', plugin_id: 'mcp/weather' } }
    const asked = { input: 'How is the weather?', integrations: ['mcp/weather'] }
    expect((await answer(asked)).output).toEqual([
      { type: 'message', content: 'Let me look.' },
      { type: 'tool_call', ...call, output: 'sunny' },
      { type: 'message', content: 'It is sunny.' },
    ])
    const frames = framesOf((await chat({ ...asked, stream: true })).text)
    expect(frames).toContainEqual({ type: 'tool_call.arguments', ...call })
    expect(frames).toContainEqual({ type: 'tool_call.success', ...call, output: 'sunny' })
    const unknown = await chat({ input: 'a', integrations: ['mcp/weather', { type: 'plugin', id: 'mcp/none' }] })
    expect(unknown.body).toMatchObject({
      error: { param: 'integrations[1].id', message: expect.stringMatching(/^integrations\[1\]\.id .*none/) },
    })
  })
})

describe("LM Studio's management", () => {
  async function open() {
    const app = await startLoadingApp()
    onTestFinished(app.close)
    const call = async (path: string, body?: object, key?: string) => {
      const reply = await app.send(`/api/v1${path}`, body, key === undefined ? {} : { key })
      return { status: reply.status, body: (await reply.json()) as Body }
    }
    return { ...app, v1: call }
  }

  test('lists, loads and unloads a model', async () => {
    const { v1 } = await open()
    const tiny = async () => (await v1('/models')).body.models.find(({ key }) => key === 'tiny')
    expect(await tiny()).toMatchObject({
      type: 'llm',
      display_name: 'tiny',
      quantization: { name: expect.any(String), bits_per_weight: expect.any(Number) },
      format: 'gguf',
      loaded_instances: [],
    })
    const { status, body } = await v1('/models/load', { model: 'tiny', context_length: 512, echo_load_config: true })
    expect([status, body]).toEqual([
      200,
      {
        type: 'llm',
        instance_id: 'tiny',
        load_time_seconds: expect.any(Number),
        status: 'loaded',
        load_config: expect.objectContaining({ context_length: 512 }),
      },
    ])
    // A load that asks for nothing changes nothing.
    await v1('/models/load', { model: 'tiny' })
    expect((await tiny())?.loaded_instances).toEqual([{ id: 'tiny', config: { context_length: 512 } }])
    expect((await v1('/models/unload', { instance_id: 'tiny' })).body).toEqual({ instance_id: 'tiny' })
    expect((await tiny())?.loaded_instances).toEqual([])
  })

  test('a stream shows how its model is loaded', async () => {
    const { send } = await open()
    const reply = await send('/api/v1/chat', { model: 'tiny', input: 'Hi', max_output_tokens: 2, stream: true })
    const types = framesOf(await reply.text()).map(({ type }) => type)
    expect([types[0], types[1], types.at(-1)]).toEqual(['chat.start', 'model_load.start', 'chat.end'])
    expect(types.indexOf('model_load.end')).toBe(types.indexOf('prompt_processing.start') - 1)
  })

  test('changes nothing for a key that only generates', async () => {
    const { v1 } = await open()
    expect((await v1('/models', undefined, 'user')).status).toBe(200)
    const calls = [
      ['/models/load', { model: 'tiny' }],
      ['/models/unload', { instance_id: 'echo' }],
      ['/models/download', { model: 'owner/some' }],
      ['/models/download/status/job_1', undefined],
    ] as const
    for (const [path, body] of calls) {
      expect(await v1(path, body, 'user')).toMatchObject({ status: 403, body: { error: { type: 'invalid_request' } } })
    }
  })

  test('a download is a job that tells how far it is', async () => {
    const hub = await openHub()
    const { v1 } = await open()
    const resume = hub.hold()
    const link = { model: 'https://huggingface.co/owner/some', quantization: 'Q8_0' }
    const { body: begun } = await v1('/models/download', link)
    expect(begun).toMatchObject({ status: 'downloading', job_id: expect.stringMatching(/^job_/) })
    const job = async () => (await v1(`/models/download/status/${begun.job_id}`)).body
    await until(async () => (await job()).downloaded_bytes > 0)
    expect(await job()).toMatchObject({
      status: 'downloading',
      total_size_bytes: hub.sizeBytes,
      bytes_per_second: expect.any(Number),
    })
    resume()
    await until(async () => (await job()).status === 'completed')
    expect(await job()).toMatchObject({ downloaded_bytes: hub.sizeBytes, completed_at: expect.any(String) })
    expect((await v1('/models/download', { model: 'owner/some' })).body).toEqual({ status: 'already_downloaded' })
  })

  test('says what it cannot find, by its field', async () => {
    await openHub()
    const { v1 } = await open()
    const found = await Promise.all([
      v1('/models/load', { model: 'no-such-model' }),
      v1('/models/unload', { instance_id: 'no-such-model' }),
      v1('/models/download/status/job_1'),
      v1('/models/load', { model: 'tiny', num_experts: 4, offload_kv_cache_to_gpu: true }),
      v1('/models/download', { model: 'some', quantization: 'Q8_0' }),
      v1('/models/download', { model: 'owner/missing' }),
    ])
    expect(found.map(({ status, body: { error } }) => [status, error.type, error.param])).toEqual([
      [404, 'model_not_found', 'model'],
      [404, 'model_not_found', expect.any(String)],
      [404, 'job_not_found', 'job_id'],
      [400, 'invalid_request', 'num_experts'],
      [400, 'invalid_request', 'quantization'],
      [404, 'model_not_found', undefined],
    ])
  })
})
