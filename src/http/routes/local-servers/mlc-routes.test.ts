import { afterEach, describe, expect, test } from 'vitest'
import { createTestServer, type TestServerOptions } from '../../../../test/support/http/test-server.ts'
import { hashApiKey } from '../../../app/keys/made-keys.ts'
import type { Scope } from '../../../contract/principal.ts'
import type { GenerationRequest } from '../../../contract/request.ts'
import { createFakeEngine } from '../../../engine/fake/engine.ts'

const open: { close(): Promise<unknown> }[] = []
afterEach(() => Promise.all(open.splice(0).map((app) => app.close())))

/** A server with the door open, and what its engine was asked for. */
function openServer(options: Partial<TestServerOptions> = {}) {
  const seen: GenerationRequest[] = []
  const unloads: number[] = []
  const fake = createFakeEngine({ script: 'from-request', contextLength: 1000 })
  const engine: typeof fake = {
    ...fake,
    state: { type: 'ready' },
    prepare: (request, signal) => {
      seen.push(request)
      return fake.prepare(request, signal)
    },
    unload: async ({ drainMs }) => {
      unloads.push(drainMs)
    },
  }
  const { app } = createTestServer({ engine, debugs: true, ...options })
  open.push(app)
  const post = async (url: string, payload: object, headers = {}) => {
    const reply = await app.inject({ method: 'POST', url, payload, headers })
    return { status: reply.statusCode, text: reply.body, headers: reply.headers, json: () => reply.json() }
  }
  const chat = (more: object, headers = {}) =>
    post('/v1/chat/completions', { model: 'default', messages: [{ role: 'user', content: 'one two' }], ...more }, headers)
  return { seen, unloads, post, chat }
}

const withKeys = (...scopes: Scope[]) => ({ auth: { apiKeys: [{ hash: hashApiKey('k'), scopes: new Set(scopes) }] } })
const key = { authorization: 'Bearer k' }

describe('debug_config', () => {
  test('ignore_eos also turns stop sequences off, as at MLC-LLM', async () => {
    const { seen, chat } = openServer()
    expect((await chat({ stop: ['two'], debug_config: { ignore_eos: true } })).status).toBe(200)
    expect(seen).toMatchObject([{ ignoreEos: true, stop: [] }])
  })

  test('defaults change nothing', async () => {
    const { seen, chat } = openServer()
    const config = {
      ignore_eos: false,
      pinned_system_prompt: false,
      special_request: null,
      grammar_execution_mode: 'jump_forward',
    }
    expect((await chat({ stop: ['two'], debug_config: config })).status).toBe(200)
    expect(seen).toMatchObject([{ ignoreEos: false, stop: ['two'] }])
    expect(seen[0]).not.toHaveProperty('pinsPrompt')
  })

  test('pinned_system_prompt keeps the prompt in its slot, in completions as well', async () => {
    const { seen, chat, post } = openServer()
    await chat({ debug_config: { pinned_system_prompt: true } })
    await post('/v1/completions', { model: 'default', prompt: ['a', 'b'], debug_config: { pinned_system_prompt: true } })
    expect(seen.map(({ pinsPrompt }) => pinsPrompt)).toEqual([true, true, true])
  })

  test('what is wrong, and what cannot be, is named with its path; what is unknown is in the header', async () => {
    const { chat } = openServer()
    const refused = async (config: object) => (await chat({ debug_config: config })).json().error
    expect(await refused({ ignore_eos: 1 })).toMatchObject({ param: 'debug_config.ignore_eos' })
    expect(await refused({ disagg_config: { kind: 'remote_send' } })).toMatchObject({ param: 'debug_config.disagg_config' })
    expect(await refused({ special_request: 'query_engine_metrics' })).toMatchObject({
      param: 'debug_config.special_request',
      message: expect.stringContaining('stream_options.include_usage true'),
    })
    const { status, headers } = await chat({ debug_config: { later: true } })
    expect([status, headers['x-dragoman-ignored']]).toEqual([200, 'debug_config.later'])
  })

  test('query_engine_metrics is answered by one chunk with the metrics, and nothing is generated', async () => {
    const { seen, chat } = openServer()
    await chat({})
    const options = { stream: true, stream_options: { include_usage: true } }
    const { text, headers } = await chat({ ...options, debug_config: { special_request: 'query_engine_metrics' } })
    expect(headers['content-type']).toContain('text/event-stream')
    const [frame = '', done] = text.split('\n\n')
    expect(JSON.parse(frame.slice(6))).toMatchObject({
      object: 'chat.completion.chunk',
      model: 'org/fake',
      choices: [],
      usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, extra: { completion_tokens_sum: expect.any(Number) } },
    })
    expect(done).toBe('data: [DONE]')
    expect(seen).toHaveLength(1)
  })

  test.each([
    { name: 'the door is closed', options: { debugs: false }, headers: {} },
    { name: 'the key lacks the scope `admin`', options: withKeys('inference'), headers: key },
  ])('where $name, it is left out, and named where it would change something', async ({ options, headers }) => {
    const { chat } = openServer(options)
    const ignored = async (config: object) => {
      const reply = await chat({ debug_config: config }, headers)
      expect(reply.status).toBe(200)
      return reply.headers['x-dragoman-ignored']
    }
    expect(await ignored({ ignore_eos: false, grammar_execution_mode: 'constraint' })).toBeUndefined()
    expect(await ignored({ ignore_eos: true })).toBe('debug_config')
  })
})

describe('the routes below /debug', () => {
  test('a trace has the phases of each request, in the form that Chrome reads', async () => {
    const { chat, post } = openServer()
    await chat({})
    const events = (await post('/debug/dump_event_trace', { model: 'default' })).json()
    expect(events[0]).toEqual({
      name: 'request arrives',
      ph: 'i',
      ts: expect.any(Number),
      pid: 1,
      tid: expect.stringMatching(/^chatcmpl-/),
    })
    expect(events.at(-1)).toMatchObject({ name: 'request is done', ph: 'i' })
    const begun = events.filter(({ ph }: { ph: string }) => ph === 'B').map(({ name }: { name: string }) => name)
    expect(begun).toContain('decode')
    expect(events.filter(({ ph }: { ph: string }) => ph === 'E')).toHaveLength(begun.length)
  })

  test('metrics are sums over the requests of a model, until it is reset', async () => {
    const { chat, post, unloads } = openServer()
    await chat({})
    await chat({})
    const metrics = async () => (await post('/debug/dump_engine_metrics', {})).json().metrics
    const { prompt_tokens_sum, completion_tokens_sum, last_finished_request } = await metrics()
    expect(completion_tokens_sum).toBe(2 * last_finished_request.completion_tokens)
    expect(prompt_tokens_sum).toBe(2 * last_finished_request.prompt_tokens)
    expect((await post('/debug/reset_engine', { model: 'default' })).json()).toEqual({})
    expect(unloads).toHaveLength(1)
    expect(await metrics()).toMatchObject({ completion_tokens_sum: 0, prompt_tokens_sum: 0 })
  })

  test('a reset ends what runs', async () => {
    const { chat, post } = openServer()
    const script = JSON.stringify({ chunks: ['one '], delayMs: 3_600_000 })
    const running = chat({ messages: [{ role: 'user', content: script }] })
    await expect.poll(async () => (await post('/debug/dump_event_trace', {})).json().length).toBeGreaterThan(0)
    await post('/debug/reset_engine', {})
    expect((await running).status).toBeGreaterThanOrEqual(400)
  })

  test('CUDA has no profiler here, and says what to use', async () => {
    const { status, json } = await openServer().post('/debug/cuda_profiler_start', {})
    expect([status, json().error.message]).toEqual([404, expect.stringContaining('nsys')])
  })

  test('they are for the scope `admin`, and not there while the door is closed', async () => {
    const post = (options: Partial<TestServerOptions>) => openServer(options).post('/debug/reset_engine', {}, key)
    expect((await post(withKeys('inference', 'metrics'))).status).toBe(403)
    expect((await post(withKeys('admin'))).status).toBe(200)
    expect((await post({ ...withKeys('admin'), debugs: false })).status).toBe(404)
  })
})
