import { describe, expect, onTestFinished, test } from 'vitest'
import { listenOnLoopback } from '../../../../test/support/upstream/loopback.ts'
import { TemplateReader } from '../../../threads/template-reader.ts'
import { UpstreamClient } from '../transport/client.ts'
import { type ProbeOptions, probeServer } from './probe.ts'
import type { Discovery } from './upstream.ts'

type Answered = { readonly status: number; readonly body: object }

/** Probes a server that has these routes; all others are 404. That of `POST` is a status and a body; it keeps what it is asked. */
async function probe(routes: Record<string, unknown>, options: Partial<ProbeOptions> = {}, posted: unknown[] = []) {
  const { origin, close } = await listenOnLoopback(async (request, response) => {
    const found = routes[request.url ?? '']
    const text = (await request.toArray()).join('')
    if (text !== '') posted.push(JSON.parse(text))
    const { status, body } =
      text === '' || found === undefined ? { status: found === undefined ? 404 : 200, body: found } : (found as Answered)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body ?? { error: 'not found' }))
  })
  const client = new UpstreamClient({ connections: 2 })
  const templates = new TemplateReader()
  onTestFinished(async () => {
    await client.close()
    await templates.close()
    await close()
  })
  const endpoint = { id: 'a', url: `${origin}/v1`, weight: 1 }
  const all = {
    profile: undefined,
    protocol: undefined,
    upstreamModel: undefined,
    contextLength: undefined,
    id: 'm',
    templates,
    ...options,
  }
  return probeServer(client, endpoint, all, new AbortController().signal)
}

const models = (...data: Record<string, unknown>[]) => ({ '/v1/models': { object: 'list', data } })

describe('a server is recognised by its replies', () => {
  test('vLLM, with its version and its context', async () => {
    const routes = { ...models({ id: 'q', owned_by: 'vllm', max_model_len: 4096 }), '/version': { version: '0.11.0' } }
    expect(await probe(routes)).toMatchObject({ profile: 'vllm', version: '0.11.0', model: 'q', contextLength: 4096 })
  })

  test('llama-server, with its template and modalities', async () => {
    const template = '{% for m in messages %}{{ m.content }}{% endfor %}'
    const props = {
      build_info: 'b1',
      chat_template: template,
      default_generation_settings: { n_ctx: 2048 },
      modalities: { vision: true, audio: false },
    }
    const routes = { ...models({ id: 'x.gguf', owned_by: 'llamacpp', meta: { n_ctx_train: 9999 } }), '/props': props }
    expect(await probe(routes)).toMatchObject({
      profile: 'llama-server',
      version: 'b1',
      contextLength: 2048,
      chatTemplate: template,
      modalities: { image: true, audio: false },
    })
  })

  test('llama-server, which refuses a budget of thinking below all when it has budgets', async () => {
    const asked: unknown[] = []
    const found = async (reply: { status: number; body: object }, known?: Discovery) => {
      asked.length = 0
      const props = { build_info: 'b1', chat_template_caps: {} }
      const routes = { ...models({ id: 'x.gguf', owned_by: 'llamacpp' }), '/props': props, '/completion': reply }
      return await probe(routes, known && { known }, asked)
    }
    const refusal = { error: { code: 400, message: "Field 'reasoning_budget_tokens': Value must be between -1 <= value" } }
    const capable = await found({ status: 400, body: refusal })
    expect(capable.abilities).toEqual({ reasoningBudget: true })
    expect(asked).toEqual([expect.objectContaining({ reasoning_budget_tokens: -2, n_predict: 0 })])
    expect(await found({ status: 200, body: {} }, capable)).toMatchObject({ abilities: { reasoningBudget: true } })
    expect(asked).toEqual([])
    expect((await found({ status: 200, body: { content: '' } })).abilities).toEqual({ reasoningBudget: false })
    expect((await found({ status: 400, body: { error: { message: 'busy' } } })).abilities).toEqual({ reasoningBudget: false })
  })

  test('Anthropic, whose list of models has a form of its own, with the limits of the model', async () => {
    const capabilities = { image_input: { supported: true }, pdf_input: { supported: false } }
    const model = { type: 'model', id: 'c', max_input_tokens: 200_000, max_tokens: 64_000, capabilities }
    expect(await probe(models(model))).toMatchObject({
      profile: 'anthropic',
      protocol: 'messages',
      contextLength: 200_000,
      outputLength: 64_000,
      modalities: { image: true, audio: false, file: false },
    })
  })

  test('TGI, with its version and its context', async () => {
    const info = { model_id: 'q', max_total_tokens: 4096, version: '3.0.0' }
    const routes = { ...models({ id: 'q', object: 'model', created: 0, owned_by: 'q' }), '/info': info }
    expect(await probe(routes)).toMatchObject({ profile: 'tgi', version: '3.0.0', contextLength: 4096 })
  })

  test('Together, whose list of models is bare', async () => {
    const model = { id: 'q', object: 'model', type: 'chat', organization: 'Q', context_length: 8192 }
    expect(await probe({ '/v1/models': [model] })).toMatchObject({ profile: 'together', model: 'q', contextLength: 8192 })
  })

  test.each<[string, Record<string, unknown>, number]>([
    ['tabbyapi', { owned_by: 'tabbyAPI', parameters: { max_seq_len: 8192 } }, 8192],
    ['aphrodite', { owned_by: 'pygmalionai', max_model_len: 4096 }, 4096],
    ['groq', { owned_by: 'Meta', active: true, context_window: 8192 }, 8192],
    ['fireworks', { owned_by: 'fireworks', context_length: 4096 }, 4096],
    ['fireworks', { owned_by: 'an account', supports_chat: true, context_length: 4096 }, 4096],
  ])('%s, by what its models have: %j', async (profile, fields, contextLength) => {
    expect(await probe(models({ id: 'q', object: 'model', ...fields }))).toMatchObject({ profile, contextLength })
  })

  test.each([
    ['sglang', 'sglang'],
    ['library', 'ollama'],
    ['dragoman', 'dragoman'],
    ['somebody', 'openai'],
  ])('owned by %s: %s', async (owner, profile) => {
    expect(await probe(models({ id: 'q', owned_by: owner }))).toMatchObject({ profile })
  })

  test('an unknown kind, with the version that it reports', async () => {
    expect(await probe({ ...models({ id: 'q' }), '/version': { version: '7' } })).toMatchObject({
      profile: 'openai',
      version: '7',
    })
    expect(await probe(models({ id: 'q' }))).toMatchObject({ version: undefined })
  })

  test('the configuration wins', async () => {
    expect(await probe(models({ id: 'q', owned_by: 'vllm' }), { profile: 'openai' })).toMatchObject({ profile: 'openai' })
  })
})

describe("the server's name of the model", () => {
  test.each<[string, Partial<ProbeOptions>, string]>([
    ['is ours where the server has it', { id: 'b' }, 'b'],
    ['is an alias of it', { id: 'alias-of-a' }, 'a'],
    ['is the configured one', { upstreamModel: 'b' }, 'b'],
  ])("the server's name of the model %s", async (_, options, model) => {
    const routes = models({ id: 'a', aliases: ['alias-of-a'] }, { id: 'b' })
    expect(await probe(routes, options)).toMatchObject({ model })
  })

  test("the server's name is that of its only model", async () => {
    expect(await probe(models({ id: 'other' }))).toMatchObject({ model: 'other' })
  })

  test.each<[string, Record<string, unknown>[]]>([
    [
      'other models',
      [
        { id: 'a', owned_by: 'vllm', max_model_len: 10 },
        { id: 'b', owned_by: 'vllm' },
      ],
    ],
    ['one other model', [{ id: 'a', owned_by: 'vllm', max_model_len: 10 }]],
  ])(
    "the server's name is believed where it is configured and the server lists %s, of which the kind is taken",
    async (_, listed) => {
      const found = await probe(models(...listed), { upstreamModel: 'gateway/q' })
      expect(found).toMatchObject({ model: 'gateway/q', profile: 'vllm', contextLength: undefined })
      expect(found.unlisted).toMatch(/no model 'gateway\/q'; it has: a.*asked for nevertheless/)
    },
  )

  test("the server's name leaves the kind open where the listed models are of several", async () => {
    const listed = models({ id: 'a', owned_by: 'vllm' }, { id: 'b', owned_by: 'sglang' })
    expect(await probe(listed, { upstreamModel: 'c' })).toMatchObject({ model: 'c', profile: 'openai' })
  })

  test.each<[string, Partial<ProbeOptions>, string]>([
    ['ours', {}, 'm'],
    ['the configured one', { upstreamModel: 'q' }, 'q'],
  ])("the server's name is %s where the server lists `unknown` only, which names nothing", async (_, options, model) => {
    const found = await probe(models({ id: 'unknown', owned_by: 'local' }), options)
    expect(found).toMatchObject({ model, profile: 'openai' })
    expect(found).not.toHaveProperty('unlisted')
  })

  test("the server's name must be configured where there are several others, which are listed", async () => {
    await expect(probe(models({ id: 'a' }, { id: 'b' }))).rejects.toThrow("no model 'm'; it has: a, b")
  })
})
