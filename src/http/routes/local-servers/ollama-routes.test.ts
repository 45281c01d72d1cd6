import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type RunningApp, startApp } from '../../../../test/support/http/app.ts'
import { openTestServer } from '../../../../test/support/http/test-server.ts'
import { hasSenses } from '../../../../test/support/llama/senses.ts'
import { openHub } from '../../../../test/support/upstream/hub.ts'
import { hashApiKey } from '../../../app/keys/made-keys.ts'
import type { Engine } from '../../../contract/engine.ts'
import { allScopes, type Scope } from '../../../contract/principal.ts'
import type { Resident } from '../../../contract/residency.ts'
import { FairScheduler } from '../../../core/schedule/fair-scheduler.ts'
import { createFakeEngine } from '../../../engine/fake/engine.ts'
import { builtinModel } from '../../../registry/names/builtin-model.ts'
import type { KeyRules } from '../../access/auth.ts'

let app: RunningApp
beforeAll(async () => {
  app = await startApp({
    models: [
      { engine: 'fake', id: 'echo', aliases: ['default', 'gpt-*'], script: 'from-request', contextLength: 400 },
      { engine: 'fake', id: 'big:7b', script: 'from-request' },
      { engine: 'llama', id: 'dragoman-tiny', source: builtinModel.path, load: 'demand' },
    ],
    server: { adminKey: 'admin', apiKeys: ['user'] },
  })
})
afterAll(() => app.close())

type Sent = { readonly method?: string; readonly key?: string; readonly type?: string }

async function call(path: string, body?: object, { method, key = 'admin', type = 'application/json' }: Sent = {}) {
  const response = await fetch(`${app.url}${path}`, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': type }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const values = text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
  const { headers, status } = response
  const [ignored, dropped] = ['ignored', 'dropped'].map((name) => headers.get(`x-dragoman-${name}`))
  return { status, type: headers.get('content-type'), ignored, dropped, values, value: values[0] }
}

const hi = { model: 'echo', messages: [{ role: 'user', content: 'a b' }] }

describe('a chat', () => {
  test('is a stream of lines unless it is asked to be none', async () => {
    const streamed = await call('/api/chat', hi)
    expect([streamed.status, streamed.type]).toEqual([200, 'application/x-ndjson'])
    expect(streamed.values.map(({ message }) => message.content).join('')).toBe('a b')
    expect(streamed.values.map(({ done }) => done).indexOf(true)).toBe(streamed.values.length - 1)
    const whole = await call('/api/chat', { ...hi, stream: false })
    expect([whole.status, whole.type]).toEqual([200, 'application/json; charset=utf-8'])
    expect(whole.value).toMatchObject({ model: 'echo', message: { role: 'assistant', content: 'a b' }, done: true })
  })

  test.each(['echo:latest', 'ECHO', 'Default:latest', 'big:7b'])(
    'finds the model %s, and answers with that name',
    async (model) => {
      expect((await call('/api/chat', { ...hi, model, stream: false })).value).toMatchObject({ model, done_reason: 'stop' })
    },
  )

  test('is read with any content type, as curl sends it', async () => {
    const sent = await call('/api/chat', { ...hi, stream: false }, { type: 'application/x-www-form-urlencoded' })
    expect([sent.status, sent.value.message.content]).toEqual([200, 'a b'])
  })

  test.each<[string, object, number, string | RegExp]>([
    ['without a model', { ...hi, model: undefined }, 400, 'model is required'],
    ['for a model that is not there', { ...hi, model: 'none' }, 404, /^model 'none' not found/],
    ['of the wrong type', { ...hi, messages: 5 }, 400, /^messages: expected a list of messages/],
    [
      'longer than the context',
      { ...hi, messages: [{ role: 'user', content: 'a '.repeat(900) }] },
      400,
      /Dragoman does not drop messages$/,
    ],
  ])('%s is an error that is a text', async (_, body, status, error) => {
    const reply = await call('/api/chat', body)
    expect([reply.status, reply.value]).toEqual([
      status,
      { error: typeof error === 'string' ? error : expect.stringMatching(error) },
    ])
  })

  test('without a body, or with an unknown key, is an error that is a text', async () => {
    expect((await call('/api/chat', undefined, { method: 'POST' })).value).toEqual({ error: 'missing request body' })
    const stranger = await call('/api/chat', hi, { key: 'other' })
    expect([stranger.status, stranger.value]).toEqual([401, { error: expect.any(String) }])
  })

  test('that fails in the middle ends with a line that says so', async () => {
    const script = '{{chunks: ["a"], failAfter: 1}}'
    const failing = createFakeEngine({ script: 'from-request' })
    const engine: typeof failing = {
      ...failing,
      prepare: async () => ({
        run: async (_signal, emit) => {
          await emit({ type: 'text-delta', choice: 0, delta: script })
          throw new Error('it broke')
        },
      }),
    }
    const { app: inner } = openTestServer({ engine })
    const reply = await inner.inject({ method: 'POST', url: '/api/chat', payload: { ...hi, model: 'default' } })
    const lines = reply.body
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect([reply.statusCode, lines.at(-1)]).toEqual([200, { error: expect.any(String) }])
  })
})

test('each line of a stream is a chunk of its own', async () => {
  const { listen } = openTestServer({ engine: createFakeEngine({ script: 'from-request' }) })
  const body = JSON.stringify({ model: 'default', messages: [{ role: 'user', content: 'one two three four' }] })
  // Node's client joins what has arrived.
  const socket = connect(await listen(), '127.0.0.1')
  const head = 'POST /api/chat HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nconnection: close\r\n'
  socket.end(`${head}content-length: ${body.length}\r\n\r\n${body}`)
  const sent = await text(socket)
  const framed = sent.slice(sent.indexOf('\r\n\r\n') + 4)
  // A length, and as much text.
  const chunks = framed.split('\r\n').filter((part, index) => index % 2 === 1 && part !== '')
  expect(chunks.length).toBeGreaterThan(3)
  for (const chunk of chunks) expect(chunk.indexOf('\n')).toBe(chunk.length - 1)
})

describe('a prompt', () => {
  test('is answered in `response`', async () => {
    const { values } = await call('/api/generate', { model: 'echo', prompt: 'a b' })
    expect(values.map(({ response }) => response).join('')).toBe('a b')
    expect((await call('/api/generate', { model: 'echo', prompt: 'a b', raw: true, stream: false })).value.response).toBe('a b')
  })

  test('what is refused is named at once', async () => {
    const { status, value } = await call('/api/generate', {
      model: 'echo',
      prompt: 'a',
      template: '{{ .Prompt }}',
      context: [1],
      options: { penalty_alpha: 0.5 },
    })
    expect(status).toBe(400)
    for (const word of [/Go templates/, /context is deprecated/, /options\.penalty_alpha/]) expect(value.error).toMatch(word)
  })
})

test.each([
  ['/api/chat', { messages: [] }, { message: { role: 'assistant', content: '' } }],
  ['/api/generate', { prompt: '' }, { response: '' }],
] as const)('%s without anything to answer loads the model, or unloads it', async (path, body, empty) => {
  const loaded = await call(path, { model: 'echo', ...body, keep_alive: '5m' })
  expect([loaded.type, loaded.value]).toEqual([
    'application/json; charset=utf-8',
    { model: 'echo', created_at: expect.any(String), ...empty, done: true, done_reason: 'load' },
  ])
  expect((await call(path, { model: 'echo', ...body, keep_alive: 0 })).value.done_reason).toBe('unload')
  const other = await call(path, { model: 'echo', ...body, keep_alive: 0 }, { key: 'user' })
  expect([other.status, other.value]).toEqual([403, { error: expect.stringContaining('unload') }])
})

test('a load is cancelled by its `cancel_id`', async () => {
  const engine: Engine = { ...createFakeEngine({ script: 'from-request' }), ensureReady: waitFor }
  const { app: inner } = openTestServer({ engine })
  const payload = { model: 'default', cancel_id: 'mine' }
  const loading = inner.inject({ method: 'POST', url: '/api/generate', payload }).then(({ statusCode }) => statusCode)
  const cancel = async () =>
    (await inner.inject({ method: 'POST', url: '/api/inference/cancel', payload: { cancel_id: 'mine' } })).json().cancelled
  await expect.poll(cancel).toBe(1)
  expect(await loading).toBe(499)
})

/** Waits until the signal is aborted. */
function waitFor(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
}

describe('how long a model stays', () => {
  const openKept = (auth: KeyRules = { apiKeys: [] }) => {
    const kept: number[] = []
    const engine = createFakeEngine({ script: 'from-request' })
    const scheduler = new FairScheduler({ slots: 1, maxQueued: 1, engine })
    const resident = { keepFor: (ms: number) => void kept.push(ms) } as Resident
    const model = { id: 'org/fake', engine, scheduler, resident }
    return { kept, app: openTestServer({ engine, auth, served: () => model }).app }
  }

  test.each<[string, object]>([
    ['/api/chat', { messages: [{ role: 'user', content: 'a' }] }],
    ['/api/generate', { prompt: 'a' }],
    ['/api/embed', { input: 'a' }],
  ])('is what the last request to %s says, when it has ended', async (url, body) => {
    const { kept, app: inner } = openKept()
    for (const keep_alive of ['5m', -1, undefined]) {
      const payload = { model: 'default', ...body, keep_alive }
      expect((await inner.inject({ method: 'POST', url, payload })).statusCode).toBe(200)
    }
    expect(kept).toEqual([300_000, Number.POSITIVE_INFINITY])
  })

  test('is not for keys that may not unload: the model stays as long as before, and the reply names the field', async () => {
    const apiKeys = [
      { hash: hashApiKey('admin'), scopes: allScopes },
      { hash: hashApiKey('user'), scopes: new Set<Scope>(['inference']) },
    ]
    const { kept, app: inner } = openKept({ apiKeys })
    for (const key of ['user', 'admin']) {
      const payload = { model: 'default', messages: [{ role: 'user', content: 'a' }], keep_alive: key === 'user' ? '9m' : '5m' }
      await inner.inject({ method: 'POST', url: '/api/chat', payload, headers: { authorization: `Bearer ${key}` } })
    }
    expect(kept).toEqual([300_000])
    const asked = await call('/api/chat', { ...hi, keep_alive: -1 }, { key: 'user' })
    expect([asked.status, asked.ignored]).toEqual([200, 'keep_alive'])
    expect((await call('/api/chat', { ...hi, keep_alive: -1 })).ignored).toBeNull()
    expect((await call('/api/embed', { model: 'echo', input: 'a', keep_alive: 1 }, { key: 'user' })).ignored).toBe('keep_alive')
  })

  test('is named beside what the chat template of the model ignores', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dragoman-ollama-'))
    const chatTemplate = join(folder, 'plain.jinja')
    await writeFile(chatTemplate, '{{ messages[0].content }}')
    const own = await startApp({
      builtinModel: false,
      models: [{ engine: 'fake', id: 'plain', script: 'from-request', chatTemplate }],
      server: { apiKeys: ['user'] },
    })
    onTestFinished(async () => {
      await own.close()
      await rm(folder, { recursive: true })
    })
    const response = await fetch(`${own.url}/api/chat`, {
      method: 'POST',
      headers: { authorization: 'Bearer user' },
      body: JSON.stringify({ ...hi, model: 'plain', keep_alive: -1, think: false, stream: false }),
    })
    expect(response.headers.get('x-dragoman-ignored')).toBe('keep_alive, think')
  })
})

test('vectors have length 1; none are asked for, none come', async () => {
  const { value } = await call('/api/embed', { model: 'echo', input: ['a', 'b'], dimensions: 8 })
  expect(value).toMatchObject({ model: 'echo', prompt_eval_count: expect.any(Number), total_duration: expect.any(Number) })
  for (const vector of value.embeddings) expect(vector.reduce((sum: number, x: number) => sum + x * x, 0)).toBeCloseTo(1)
  expect((await call('/api/embed', { model: 'echo', input: '' })).value.embeddings).toEqual([])
  expect((await call('/api/embeddings', { model: 'echo', prompt: 'a' })).value.embedding.length).toBeGreaterThan(8)
  expect((await call('/api/embeddings', { model: 'echo', prompt: '' })).value).toEqual({ embedding: [] })
  expect((await call('/api/embed', { model: 'echo', input: 5 })).value.error).toMatch(/^input: expected a string/)
})

describe('the lists', () => {
  test('have every name with its tag, and patterns are not names', async () => {
    const { models } = (await call('/api/tags')).value
    const names = models.map(({ name, model }: { name: string; model: string }) => [name, name === model])
    expect(names).toEqual(
      expect.arrayContaining([
        ['echo:latest', true],
        ['default:latest', true],
        ['big:7b', true],
        ['dragoman-tiny:latest', true],
      ]),
    )
    expect(names).toHaveLength(4)
  })

  test('show what the file of a model says, before it is loaded', async () => {
    const { models } = (await call('/api/tags')).value
    expect(models.find(({ name }: { name: string }) => name === 'dragoman-tiny:latest')).toEqual({
      name: 'dragoman-tiny:latest',
      model: 'dragoman-tiny:latest',
      modified_at: expect.stringMatching(/Z$/),
      size: 4_558_016,
      digest: expect.stringMatching(/^[\da-f]{64}$/),
      details: {
        parent_model: '',
        format: 'gguf',
        family: 'llama',
        families: ['llama'],
        parameter_size: '4.20M',
        quantization_level: 'Q8_0',
        context_length: 4096,
        embedding_length: 256,
      },
      // It has a projector.
      capabilities: ['completion', 'tools', ...(hasSenses ? ['vision'] : []), 'thinking'],
    })
    const shown = (await call('/api/show', { name: 'Dragoman-Tiny' })).value
    expect(shown).toMatchObject({
      license: 'apache-2.0',
      template: expect.stringContaining('<|im_start|>'),
      parameters: expect.stringMatching(/^num_ctx +4096$/),
      model_info: { 'general.architecture': 'llama', 'general.basename': 'Dragoman-Tiny', 'llama.context_length': 4096 },
    })
  })

  test('show the context that requests have, also of a model without a file', async () => {
    const { model_info: info } = (await call('/api/show', { model: 'echo' })).value
    expect(info[`${info['general.architecture']}.context_length`]).toBe(400)
    expect((await call('/api/show', { model: '' })).value).toEqual({ error: 'model is required' })
    expect((await call('/api/show', { model: 'none' })).status).toBe(404)
  })

  test('have the loaded models, and until when they stay', async () => {
    const { models } = (await call('/api/ps')).value
    expect(models.map(({ name }: { name: string }) => name)).not.toContain('dragoman-tiny:latest')
    expect(models[0]).toMatchObject({ size_vram: 0, expires_at: '2318-01-01T00:00:00.000Z', context_length: expect.any(Number) })
  })

  test('a version that clients accept is shown without a key', async () => {
    const response = await fetch(`${app.url}/api/version`)
    expect(await response.json()).toEqual({ version: expect.stringMatching(/^\d+\.\d+\.\d+$/), dragoman: expect.any(String) })
    expect((await fetch(`${app.url}/api/tags`)).status).toBe(401)
  })
})

describe('a text to embed that is longer than the model reads', () => {
  const input = ['a b', 'word '.repeat(1000)]

  test.each(['/api/embed', '/api/embeddings'])('is cut by %s where the client asks for that, and named', async (path) => {
    const body = { model: 'echo', input, prompt: input[1], truncate: true }
    const { status, dropped } = await call(path, body)
    expect([status, dropped]).toEqual([200, path === '/api/embed' ? 'input[1]' : 'prompt'])
    for (const truncate of [false, undefined]) expect((await call(path, { ...body, truncate })).status).toBe(400)
  })
})

describe('a pull', () => {
  test.each(['echo', 'ECHO:latest', 'default', 'gpt-5'])('of %s, which is served, succeeds at once', async (model) => {
    const streamed = await call('/api/pull', { model }, { key: 'user' })
    expect([streamed.type, streamed.values]).toEqual(['application/x-ndjson', [{ status: 'success' }]])
    expect((await call('/api/pull', { name: model, stream: false })).value).toEqual({ status: 'success' })
  })

  test('of an unknown name is refused before the first line, with the names that there are', async () => {
    const { status, value } = await call('/api/pull', { model: 'llama3.2' })
    expect([status, value.error]).toEqual([404, expect.stringMatching(/no model 'llama3\.2'; .*echo, big:7b.*llama3\.2:1b/)])
  })

  test.each(['/models/m.gguf', 'hf.co//models/m.gguf', 'c:/m.gguf'])(
    'of %s, a file of the machine, is refused',
    async (model) => {
      const { status, value } = await call('/api/pull', { model })
      expect([status, value.error]).toEqual([
        400,
        expect.stringContaining("is a file of the server's machine, which needs no pull"),
      ])
    },
  )

  test.each(['qwen3:1.7b', 'Qwen3:1.7B', 'registry.ollama.ai/library/qwen3:1.7b'])(
    'of the short name %s fetches its repository, and serves it under that name',
    async (model) => {
      const hub = await openHub()
      const { values } = await call('/api/pull', { model })
      expect(values.at(-1)).toEqual({ status: 'success' })
      expect(hub.seen[0]?.url).toContain('bartowski/Qwen_Qwen3-1.7B-GGUF')
      expect((await call('/api/chat', { ...hi, model, options: { num_predict: 1 } })).status).toBe(200)
      expect((await call('/api/delete', { model }, { method: 'DELETE' })).status).toBe(200)
    },
  )

  test('of anything else needs an operator', async () => {
    for (const model of ['hf.co/owner/repo', 'qwen3:1.7b']) {
      expect((await call('/api/pull', { model }, { key: 'user' })).status).toBe(403)
    }
  })
})

test.each([
  ['POST', '/api/push', 501, 'Dragoman cannot push models'],
  ['POST', '/api/create', 501, /Modelfile/],
  ['POST', '/api/copy', 501, /alias/],
  ['POST', '/api/blobs/sha256:0', 501, /no files of models/],
  ['DELETE', '/api/delete', 403, /^no request has added echo, .*the folder of modelsFolder/],
  ['POST', '/api/me', 401, 'unauthorized'],
  ['POST', '/api/web_search', 501, /searches in a chat/],
] as const)('%s %s is refused in words', async (method, path, status, words) => {
  const reply = await call(path, { model: 'echo' }, { method })
  expect([reply.status, reply.value]).toEqual([
    status,
    { error: typeof words === 'string' ? words : expect.stringMatching(words) },
  ])
})

test('a field that a deletion does not know is named', async () => {
  const { status, ignored } = await call('/api/delete', { model: 'echo', mood: 'good' }, { method: 'DELETE' })
  expect([status, ignored]).toEqual([403, 'mood'])
})

test('a model that is not there cannot be deleted, and a blob is not there', async () => {
  expect((await call('/api/delete', { name: 'none' }, { method: 'DELETE' })).status).toBe(404)
  const head = await fetch(`${app.url}/api/blobs/sha256:0`, { method: 'HEAD', headers: { authorization: 'Bearer admin' } })
  expect(head.status).toBe(404)
})
