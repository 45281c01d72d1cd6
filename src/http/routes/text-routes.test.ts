import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createTestServer, receive, sendChat } from '../../../test/support/http/test-server.ts'
import { capability } from '../../../test/support/llama/capability.ts'
import { stubEngine } from '../../../test/support/upstream/stub-engine.ts'
import { createWireCheck } from '../../../test/support/wire-schema.ts'
import type { Embedder, Engine, Tokenizer } from '../../contract/engine.ts'
import { allScopes } from '../../contract/principal.ts'
import { createFakeEngine } from '../../engine/fake/engine.ts'

const template =
  '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}'
const checkEmbeddings = createWireCheck('OpenAIEmbeddingResponse')
let folder: string
let engine: Engine
let app: FastifyInstance

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-text-routes-'))
  const chatTemplate = join(folder, 'chat.jinja')
  await writeFile(chatTemplate, template)
  engine = createFakeEngine({ script: 'from-request', chatTemplate, contextLength: 20 })
  app = createTestServer({ engine }).app
})
afterAll(async () => {
  await app.close()
  await rm(folder, { recursive: true, force: true })
})

async function post(url: string, body: object, server = app) {
  const reply = await server.inject({ method: 'POST', url, payload: body })
  return { status: reply.statusCode, json: reply.json(), headers: reply.headers }
}

const messages = [{ role: 'user', content: 'Hi' }]

describe('tokens', () => {
  test('a text is encoded and decoded in both protocols', async () => {
    expect((await post('/v1/token/encode', { text: 'Hé' })).json).toEqual({ tokens: [72, 195, 169], length: 3 })
    expect((await post('/v1/token/decode', { tokens: [72, 195, 169] })).json).toEqual({ text: 'Hé' })
    expect((await post('/tokenize', { content: 'Hi' })).json).toEqual({ tokens: [72, 105] })
    expect((await post('/detokenize', { tokens: [72, 105] })).json).toEqual({ content: 'Hi' })
  })

  test("a text called `prompt` is vLLM's, and so is the reply", async () => {
    const expected = { count: 2, max_model_len: 20, tokens: [72, 105], token_strs: null }
    for (const path of ['/tokenize', '/v1/tokenize']) expect((await post(path, { prompt: 'Hi' })).json).toEqual(expected)
    expect((await post('/tokenize', { prompt: 'Hi', add_special_tokens: false })).json).toEqual(expected)
    const { status, json } = await post('/tokenize', {})
    expect([status, json.error.message]).toEqual([400, 'content is missing: expected a string'])
  })

  test('messages are rendered without a generation prompt', async () => {
    const { json } = await post('/v1/token/encode', { text: messages })
    expect(Buffer.from(json.tokens).toString()).toBe('<user>Hi')
  })

  test('a chat request is rendered as the model’s prompt', async () => {
    expect((await post('/apply-template', { messages })).json).toEqual({ prompt: '<user>Hi<assistant>' })
    const prefixed = { messages, response_prefix: 'Yes' }
    expect((await post('/apply-template', prefixed)).json).toEqual({ prompt: '<user>Hi<assistant>Yes' })
  })

  test('the tool choice affects rendering', async () => {
    const asked: unknown[] = []
    const render: Tokenizer['render'] = async ({ toolChoice }) => String(asked.push(toolChoice))
    const tokenizer = { ...capability(engine, 'tokenizer'), render }
    const server = createTestServer({ engine: stubEngine({ capabilities: { tokenizer } }) }).app
    const tools = [{ type: 'function', function: { name: 'f' } }]
    await post('/apply-template', { messages, tools, tool_choice: 'none' }, server)
    await server.close()
    expect(asked).toEqual([{ type: 'none' }])
  })

  test.each<[string, object, number, string]>([
    ['/v1/token/encode', {}, 400, 'text'],
    ['/v1/token/encode', { text: [{ role: 'nobody' }] }, 400, 'text[0].role'],
    ['/v1/token/encode', { text: [] }, 400, 'text'],
    ['/v1/token/encode', { text: 'a', add_bos_token: 1 }, 400, 'add_bos_token'],
    ['/v1/token/encode', { text: 'a', model: 'nothing' }, 404, 'model'],
    ['/v1/token/decode', {}, 400, 'tokens'],
    ['/v1/token/decode', { tokens: [72, 999] }, 400, 'tokens'],
    ['/v1/token/decode', { tokens: ['a'] }, 400, 'tokens[0]'],
    ['/detokenize', { tokens: -1 }, 400, 'tokens'],
    ['/apply-template', {}, 400, 'messages'],
    ['/apply-template', { messages, temperature: 19 }, 400, 'temperature'],
  ])('POST %s refuses %j', async (url, body, status, param) => {
    const reply = await post(url, body)
    expect([reply.status, reply.json.error.param]).toEqual([status, param])
  })

  test('unknown fields are reported', async () => {
    const { headers } = await post('/v1/token/encode', { text: [{ ...messages[0], cache: 1 }], color: 'red' })
    expect(headers['x-dragoman-ignored']).toBe('color, text[].cache')
  })
})

describe('embeddings', () => {
  test('each input has a normalized vector, in order, and tokens are counted', async () => {
    const { status, json } = await post('/v1/embeddings', { model: 'default', input: ['a b', 'c', 'a b'] })
    expect(status).toBe(200)
    checkEmbeddings(json)
    expect(json).toMatchObject({ object: 'list', model: 'org/fake', usage: { prompt_tokens: 5, total_tokens: 5 } })
    expect(json.data.map(({ index }: { index: number }) => index)).toEqual([0, 1, 2])
    for (const { embedding } of json.data) expect(Math.hypot(...embedding)).toBeCloseTo(1, 5)
    expect(json.data[0].embedding).toEqual(json.data[2].embedding)
    expect(json.data[0].embedding).not.toEqual(json.data[1].embedding)
  })

  test.each<[unknown, number]>([
    ['a', 1],
    [[7, 8], 1],
    [[[7, 8], [9]], 2],
    [['a', 'b'], 2],
  ])('the input %j has %i vectors', async (input, count) => {
    expect((await post('/v1/embeddings', { model: 'default', input })).json.data).toHaveLength(count)
  })

  test('base64 is the same numbers as little-endian floats', async () => {
    const plain = await post('/v1/embeddings', { model: 'default', input: 'a' })
    const packed = await post('/v1/embeddings', { model: 'default', input: 'a', encoding_format: 'base64' })
    const bytes = Buffer.from(packed.json.data[0].embedding, 'base64')
    const numbers = Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4))
    expect(numbers).toEqual(plain.json.data[0].embedding)
  })

  test('fewer dimensions are the first ones, normalized again', async () => {
    const whole = (await post('/v1/embeddings', { model: 'default', input: 'a' })).json.data[0].embedding
    const short = (await post('/v1/embeddings', { model: 'default', input: 'a', dimensions: 3 })).json.data[0].embedding
    const norm = Math.hypot(...whole.slice(0, 3))
    for (const [index, value] of short.entries()) expect(value).toBeCloseTo(whole[index] / norm, 5)
    expect(short).toHaveLength(3)
  })

  const long = Array.from({ length: 21 }, () => 'w').join(' ')
  test.each<[object, string | null, string]>([
    [{ input: '' }, 'input', 'invalid_request'],
    [{ input: [] }, 'input', 'invalid_request'],
    [{ input: ['a', ''] }, 'input[1]', 'invalid_request'],
    [{ input: [[1], []] }, 'input[1]', 'invalid_request'],
    [{ input: ['a', '  '] }, 'input[1]', 'invalid_request'],
    [{ input: [1.5] }, 'input[0]', 'invalid_request'],
    [{ input: ['a', 7] }, 'input[1]', 'invalid_request'],
    [{}, 'input', 'invalid_request'],
    [{ input: ['a', long] }, 'input[1]', 'context_length_exceeded'],
    [{ input: long }, 'input', 'context_length_exceeded'],
    [{ input: 'a', dimensions: 0 }, 'dimensions', 'invalid_request'],
    [{ input: 'a', dimensions: 65 }, 'dimensions', 'invalid_request'],
    [{ input: 'a', encoding_format: 'int8' }, 'encoding_format', 'invalid_request'],
    [{ input: 'a', truncate_prompt_tokens: 5 }, 'truncate_prompt_tokens', 'unsupported_field'],
  ])('%j is refused by name', async (body, param, code) => {
    const { status, json } = await post('/v1/embeddings', { model: 'default', ...body })
    expect([status, json.error.param, json.error.code]).toEqual([400, param, code])
  })

  test('an engine without embeddings is refused by name', async () => {
    const server = createTestServer({ engine: stubEngine() })
    const { status, json } = await post('/v1/embeddings', { model: 'default', input: 'a' }, server.app)
    expect([status, json.error.param]).toEqual([400, 'model'])
    await server.app.close()
  })
})

describe('an embedding holds a slot', () => {
  const closing: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
  })

  test('until the engine has stopped, also when the caller disconnects', async () => {
    let onStart: () => void = () => undefined
    const started = new Promise<void>((resolve) => {
      onStart = resolve
    })
    const stopped = new Promise<{ busyAtAbort: number }>((resolve) => {
      const embed: Embedder['embed'] = (_inputs, signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            resolve({ busyAtAbort: server.scheduler.load.busy })
            reject(signal.reason)
          })
          onStart()
        })
      const slow = stubEngine({ capabilities: { embedder: { embed } } })
      const server = createTestServer({ engine: slow, slots: 1, maxQueued: 0 })
      closing.push(() => server.app.close())
      void server.listen().then(async (port) => {
        const body = JSON.stringify({ model: 'default', input: 'a' })
        const request = sendChat(port, body, { path: '/v1/embeddings' })
        await started
        const second = await receive(sendChat(port, body, { path: '/v1/embeddings' }))
        expect(second.statusCode).toBe(429)
        second.resume()
        request.destroy()
      })
    })
    expect(await stopped).toEqual({ busyAtAbort: 1 })
  })
})

describe('scores', () => {
  test.each<[string, object, string]>([
    ['/v1/rerank', { model: 'default', query: 'a', documents: ['b'] }, 'model'],
    ['/v1/score/evaluation', { model: 'default', messages: [] }, 'messages'],
    ['/v1/score/evaluation', { model: 'default', messages: ['b', 'w '.repeat(21)] }, 'messages[1]'],
    ['/v1/rerank', { model: 'default', documents: ['b'] }, 'query'],
    ['/v1/rerank', { model: 'default', query: 'a', documents: [{ title: 'b' }] }, 'documents[0].text'],
  ])('POST %s on an engine without a ranking head refuses %j', async (url, body, param) => {
    const { status, json } = await post(url, body)
    expect([status, json.error.param]).toEqual([400, param])
  })
})

test('a model without a ranking head scores by log-likelihood, and reports that method', async () => {
  const { status, json } = await post('/v1/score/evaluation', { model: 'default', messages: ['a certain text', 'b'] })
  expect(status).toBe(200)
  expect(json).toMatchObject({
    object: 'score.evaluation',
    scores: [0, 0],
    method: 'log_likelihood',
    scored_tokens: [2, 0],
    truncated: [false, false],
    usage: { prompt_tokens: 4, total_tokens: 4 },
  })
})

describe('the model', () => {
  test('has a card', async () => {
    await engine.ensureReady(new AbortController().signal)
    const reply = await app.inject('/v1/model')
    expect(reply.json()).toMatchObject({
      id: 'org/fake',
      object: 'model',
      parameters: { max_seq_len: 20, max_batch_size: 4, prompt_template_content: template },
    })
  })

  test('says nothing about images where that is not known', async () => {
    const { modalities: _, ...facts } = engine.facts
    const server = createTestServer({ engine: { ...engine, state: { type: 'ready' }, facts } }).app
    expect((await server.inject('/v1/model')).json().parameters).not.toHaveProperty('use_vision')
    await server.close()
  })

  test('has llama-server’s properties, without a path', async () => {
    const { statusCode, body } = await app.inject('/props')
    expect(statusCode).toBe(200)
    expect(JSON.parse(body)).toMatchObject({
      default_generation_settings: { n_ctx: 20 },
      total_slots: 4,
      chat_template: template,
      model_alias: 'org/fake',
    })
    expect(body).not.toContain(folder)
  })

  test.each([true, false])('reports whether it reads images, where known: %j', async (image) => {
    const facts = { ...engine.facts, modalities: { image, audio: false } }
    const server = createTestServer({ engine: { ...engine, state: { type: 'ready' }, facts } }).app
    expect((await server.inject('/v1/model')).json().parameters.use_vision).toBe(image)
    expect((await server.inject('/props')).json().modalities).toEqual({ vision: image, audio: false, video: false })
    await server.close()
  })

  test.each(['/v1/model', '/props'])('GET %s takes a model by name', async (url) => {
    expect((await app.inject(`${url}?model=org/fake`)).statusCode).toBe(200)
    const missing = await app.inject(`${url}?model=nothing`)
    expect([missing.statusCode, missing.json().error.code]).toEqual([404, 'model_not_found'])
  })
})

test.each([
  '/v1/embeddings',
  '/v1/rerank',
  '/v1/score/evaluation',
  '/v1/token/encode',
  '/v1/token/decode',
  '/tokenize',
  '/detokenize',
  '/apply-template',
])('POST %s asks for a key and for JSON', async (url) => {
  const server = createTestServer({ engine, auth: { apiKeys: [{ hash: '0'.repeat(64), scopes: allScopes }] } })
  expect((await server.app.inject({ method: 'POST', url, payload: {} })).statusCode).toBe(401)
  await server.app.close()
  const broken = await app.inject({ method: 'POST', url, payload: '{', headers: { 'content-type': 'application/json' } })
  expect([broken.statusCode, broken.json().error.code]).toEqual([400, 'invalid_json'])
})
