import { type ChildProcess, spawn } from 'node:child_process'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { builtinModel } from '../../../src/registry/names/builtin-model.ts'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'
import { llamaServerBinary, llamaServerHint } from '../../support/llama/llama-server.ts'
import { listenOnLoopback } from '../../support/upstream/loopback.ts'

const fake = (id: string, more: object = {}) => ({ engine: 'fake' as const, id, script: 'from-request', ...more })
const say = (content: string) => [{ role: 'user' as const, content }]

describe('all models of another Dragoman', () => {
  let behind: RunningApp
  let app: RunningApp
  let client: OpenAI
  beforeAll(async () => {
    process.env.LISTED_KEY = 'key-of-the-one-behind'
    behind = await startApp({
      server: { apiKeys: ['key-of-the-one-behind'] },
      builtinModel: false,
      models: [fake('one', { contextLength: 5000 }), fake('two', { aliases: ['second'] }), fake('tiny/three'), fake('own')],
    })
    app = await startApp({
      builtinModel: false,
      server: { apiKeys: ['all', { key: 'some', models: ['up/two'] }] },
      models: [
        { from: { url: `${behind.url}/v1`, apiKeyEnv: 'LISTED_KEY' }, prefix: 'up/', exclude: ['tiny/*'] },
        { from: { url: `${behind.url}/v1`, apiKeyEnv: 'LISTED_KEY' }, include: ['own', 'tiny/*'] },
        fake('own', { contextLength: 77 }),
        { from: { url: 'http://127.0.0.1:9/v1' } },
      ],
    })
    client = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'all', maxRetries: 0 })
  })
  afterAll(async () => {
    delete process.env.LISTED_KEY
    await app.close()
    await behind.close()
  })

  test('the openai SDK lists them', async () => {
    const { data } = await client.models.list()
    expect(data.map(({ id }) => id)).toEqual(['own', 'up/one', 'up/two', 'up/own', 'tiny/three'])
    expect(await client.models.retrieve('up/one')).toMatchObject({ context_length: 5000, owned_by: 'dragoman', state: 'stopped' })
    expect(await client.models.retrieve('own')).toMatchObject({ context_length: 77 })
  })

  test('the openai SDK uses them, streamed and whole, and replies carry the name that it used', async () => {
    for (const model of ['up/one', 'up/two', 'tiny/three']) {
      const whole = await client.chat.completions.create({ model, messages: say(`from ${model}`) })
      expect([whole.model, whole.choices[0]?.message.content]).toEqual([model, `from ${model}`])
      let text = ''
      const stream = await client.chat.completions.create({ model, messages: say('streamed'), stream: true })
      for await (const chunk of stream) {
        expect(chunk.model).toBe(model)
        text += chunk.choices[0]?.delta.content ?? ''
      }
      expect(text).toBe('streamed')
    }
    expect(await client.responses.create({ model: 'up/two', input: 'hello', store: false })).toMatchObject({
      output_text: 'hello',
    })
    expect(await client.models.retrieve('up/one')).toMatchObject({ state: 'ready' })
  })

  test('a key sees those that it may use', async () => {
    const limited = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'some', maxRetries: 0 })
    expect((await limited.models.list()).data.map(({ id }) => id)).toEqual(['up/two'])
    await expect(limited.chat.completions.create({ model: 'up/one', messages: say('x') })).rejects.toMatchObject({ status: 404 })
    expect(app.logLines().map(({ msg }) => msg)).not.toContain('a key may use models that are not there')
  })

  test('the log names the server that is away, and the name that a configured model keeps, and no key', () => {
    const lines = app.logLines()
    const reasons = lines.filter(({ msg }) => msg === 'the models of the server could not be listed')
    expect(reasons).toMatchObject([{ server: 'http://127.0.0.1:9/v1', level: 40 }])
    expect(lines.filter(({ msg }) => msg?.startsWith('listed models with the names of other models'))).toMatchObject([
      { models: ['own'] },
    ])
    expect(JSON.stringify(lines)).not.toContain('key-of-the-one-behind')
  })
})

test('a server that alone has models is not ready before it has listed them', async () => {
  const app = await startApp({ builtinModel: false, models: [{ from: { url: 'http://127.0.0.1:9/v1' } }] })
  const ready = await fetch(`${app.url}/ready`)
  expect([ready.status, await ready.json()]).toEqual([503, { status: 'not-ready', models: [] }])
  await app.close()
})

describe.skipIf(llamaServerBinary === undefined)(`all models of a llama-server with several${llamaServerHint}`, () => {
  let folder: string
  let server: ChildProcess
  let app: RunningApp
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dragoman-router-'))
    await cp(builtinModel.path, join(folder, 'tiny.gguf'))
    await cp(builtinModel.path, join(folder, 'other.gguf'))
    const free = await listenOnLoopback(() => undefined)
    const port = new URL(free.origin).port
    await free.close()
    const args = ['--models-dir', folder, '--host', '127.0.0.1', '--port', `${port}`, '--ctx-size', '512', '--models-max', '1']
    server = spawn(llamaServerBinary ?? '', args, { stdio: 'ignore', env: { ...process.env, LLAMA_CACHE: folder } })
    const url = `http://127.0.0.1:${port}`
    await until(async () => (await fetch(`${url}/health`).catch(() => undefined))?.ok === true)
    app = await startApp({ builtinModel: false, models: [{ from: { url: `${url}/v1` } }] })
  })
  afterAll(async () => {
    await app.close()
    server.kill()
    await rm(folder, { recursive: true })
  })

  test('it loads the one that a request names', async () => {
    const client = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'unused', maxRetries: 0 })
    expect((await client.models.list()).data.map(({ id, owned_by }) => `${id} of ${owned_by}`).sort()).toEqual([
      'other of llamacpp',
      'tiny of llamacpp',
    ])
    for (const model of ['tiny', 'other']) {
      const reply = await client.chat.completions.create({ model, messages: say('Hello'), max_tokens: 8 })
      expect([reply.model, reply.usage?.completion_tokens]).toEqual([model, expect.any(Number)])
    }
  })
})
