import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { builtinModel } from '../../../src/registry/names/builtin-model.ts'
import { until } from '../../support/http/app.ts'
import { type LoadingApp, startLoadingApp } from '../../support/http/loading-app.ts'
import { openHub } from '../../support/upstream/hub.ts'

// Loads of real models, on a machine that does other things too.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 30_000 })

let app: LoadingApp
beforeEach(async () => {
  app = await startLoadingApp()
})
afterEach(() => app.close())

const send: LoadingApp['send'] = (...call) => app.send(...call)
const call: LoadingApp['call'] = (...args) => app.call(...args)
const states = () => app.states()

/** A stream of the model that has begun; `text` is all of it. */
async function startStream(model: string) {
  const messages = [{ role: 'user', content: 'Count to one hundred.' }]
  const options = { temperature: 0, max_tokens: 300, ignore_eos: true, stream: true }
  const response = await send('/v1/chat/completions', { model, messages, ...options })
  expect(response.status).toBe(200)
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const first = await reader.read()
  const rest = async () => {
    const decoder = new TextDecoder()
    let text = decoder.decode(first.value, { stream: true })
    for (let next = await reader.read(); !next.done; next = await reader.read())
      text += decoder.decode(next.value, { stream: true })
    return text
  }
  return { text: rest() }
}

describe('a load', () => {
  test('has the settings that it asks for, and says what the model can do', async () => {
    const { status, body } = await call('/load', {
      model_path: 'TINY',
      max_seq_length: 512,
      n_parallel: 2,
      cache_type_kv: 'q8_0',
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      status: 'loaded',
      model: 'tiny',
      is_gguf: true,
      context_length: 512,
      cache_type_kv: 'q8_0',
      supports_tools: true,
      supports_reasoning: true,
      requires_trust_remote_code: false,
    })
    expect(body.native_context_length).toBeGreaterThan(512)
    // A small model: its whole context fits.
    expect(body.max_context_length).toBe(body.native_context_length)
    expect((await call('/status')).body).toMatchObject({ active_model: 'tiny', loading: [], is_gguf: true, context_length: 512 })
    expect((await call('/load-progress')).body).toMatchObject({ phase: 'ready', fraction: 1 })
  })

  test('with the same settings changes nothing, with others it loads again, and unloading forgets them', async () => {
    const load = async (settings: object) => (await call('/load', { model_path: 'tiny', ...settings })).body
    expect(await load({ max_seq_length: 512 })).toMatchObject({ status: 'loaded', context_length: 512 })
    expect(await load({ max_seq_length: 512, is_lora: false, gpu_ids: [] })).toMatchObject({ status: 'already_loaded' })
    expect(await load({ max_seq_length: 256 })).toMatchObject({ status: 'loaded', context_length: 256 })
    const template = 'User: {{ messages[0].content }} Model:'
    expect(await load({ max_seq_length: 256, chat_template_override: template })).toMatchObject({
      status: 'loaded',
      chat_template: template,
    })
    expect(await load({ max_seq_length: 256, chat_template_override: template, force_reload: true })).toMatchObject({
      status: 'loaded',
    })
    expect((await call('/unload', { model_path: 'tiny' })).body).toEqual({ status: 'unloaded', model: 'tiny' })
    expect(await states()).toEqual(['echo: ready', 'tiny: stopped'])
    const whole = await load({})
    expect(whole.context_length).not.toBe(256)
    expect(whole.chat_template).not.toBe(template)
  })

  test('with a draft model says the same, and counts what was drafted', async () => {
    const ask = async () => {
      const messages = [{ role: 'user', content: 'Count to twenty.' }]
      const options = { temperature: 0, max_tokens: 60, ignore_eos: true }
      const reply = await send('/v1/chat/completions', { model: 'tiny', messages, ...options })
      return ((await reply.json()) as { choices: unknown[] }).choices
    }
    const load = async (more: object) => {
      const reply = await send('/v1/model/load', { model_name: 'tiny', max_seq_len: 512, ...more })
      expect([reply.status, await reply.text()]).toEqual([200, expect.stringContaining('finished')])
    }
    await load({})
    const alone = await ask()
    await load({ draft_model: { draft_model_name: join(app.modelsFolder, 'tiny.gguf') } })
    expect(await ask()).toEqual(alone)
    const metrics = await (await send('/metrics')).text()
    expect(Number(/^dragoman_accepted_draft_tokens_total{model="tiny",kind="\w+"} (\d+)/m.exec(metrics)?.[1])).toBeGreaterThan(0)
  })

  test('of a path is for requests without a model, until it is unloaded by that path', async () => {
    const model_path = join(app.modelsFolder, 'tiny.gguf')
    const model = async () => {
      const messages = [{ role: 'user', content: 'Hi' }]
      return ((await (await send('/v1/chat/completions', { messages, max_tokens: 1 })).json()) as { model: string }).model
    }
    expect(await model()).toBe('echo')
    expect((await call('/load', { model_path })).body).toMatchObject({ status: 'loaded', model: 'tiny' })
    expect(await model()).toBe('tiny')
    expect((await call('/unload', { model_path: ` ${model_path}` })).body).toEqual({ status: 'unloaded', model: 'tiny' })
    expect(await model()).toBe('echo')
    expect((await call('/unload', { model_path })).status).toBe(404)
  })

  test('that would end a running request is refused, until it is forced', async () => {
    await call('/load', { model_path: 'tiny', max_seq_length: 512 })
    const { text } = await startStream('tiny')
    for (const [path, body] of [
      ['/load', { model_path: 'tiny', max_seq_length: 256 }],
      ['/unload', { model_path: 'tiny' }],
    ] as const) {
      const refused = await call(path, body)
      expect(refused.status).toBe(409)
      expect(refused.body).toMatchObject({ error: { param: 'force_cancel_active', code: 'request_conflict' } })
    }
    const forced = await call('/load', { model_path: 'tiny', max_seq_length: 256, force_cancel_active: true })
    expect(forced.body).toMatchObject({ status: 'loaded', context_length: 256 })
    expect(await text).toContain('the model was unloaded while it answered')
  })

  test('of one model leaves the streams of others alone', async () => {
    await cp(builtinModel.path, join(app.modelsFolder, 'second.gguf'))
    await call('/load', { model_path: 'tiny' })
    const { text } = await startStream('tiny')
    await until(async () => (await states()).includes('second: stopped'))
    expect((await call('/load', { model_path: 'second', max_seq_length: 256 })).body).toMatchObject({ status: 'loaded' })
    expect((await call('/unload', { model_path: 'second' })).status).toBe(200)
    expect(await text).toContain('"finish_reason":"length"')
  })

  test('that fails leaves the model as it was, to be loaded with its own settings', async () => {
    const chat_template_override = "{{ raise_exception('never') }}"
    const failed = await call('/load', { model_path: 'tiny', chat_template_override })
    expect(failed).toMatchObject({ status: 400, body: { error: { code: 'template_failed' } } })
    expect(await states()).toEqual(['echo: ready', 'tiny: stopped'])
    await writeFile(join(app.modelsFolder, 'broken.gguf'), (await readFile(builtinModel.path)).subarray(0, 100_000))
    await until(async () => (await states()).includes('broken: stopped'))
    expect(await call('/load', { model_path: 'broken' })).toMatchObject({
      status: 503,
      body: { error: { code: 'model_unavailable' } },
    })
    expect((await call('/load', { model_path: 'tiny' })).body).toMatchObject({ status: 'loaded' })
  })
})

describe('a load from a repository', () => {
  test('fetches the quantization, shows the bytes, and serves the model by the name of its repository', async () => {
    const hub = await openHub()
    const resume = hub.hold()
    const loading = call('/load', { model_path: 'owner/some-GGUF', gguf_variant: 'q8_0', hf_token: 'hf_secret' })
    await until(async () => (await call('/load-progress')).body.phase === 'downloading')
    await until(async () => Number((await call('/load-progress')).body.bytes_loaded) > 0)
    const { body } = await call('/load-progress')
    expect(body).toMatchObject({ bytes_total: hub.sizeBytes, model: 'owner/some-GGUF' })
    expect(body.fraction).toBeCloseTo(Number(body.bytes_loaded) / hub.sizeBytes, 3)
    expect((await call('/status')).body).toMatchObject({ loading: ['owner/some-GGUF'] })
    resume()
    expect((await loading).body).toMatchObject({ status: 'loaded', model: 'owner/some-GGUF', display_name: 'some-GGUF' })
    expect((await call('/status')).body).toMatchObject({ active_model: 'owner/some-GGUF', gguf_variant: 'Q8_0' })
    expect(hub.seen.map(({ headers }) => headers.authorization)).toEqual(hub.seen.map(() => 'Bearer hf_secret'))
    expect(hub.seen.at(-1)?.url).toContain('/x-Q8_0.gguf')
    expect(JSON.stringify(app.logLines())).not.toContain('hf_secret')
    const reply = await send('/v1/chat/completions', {
      model: 'owner/some-GGUF',
      messages: [{ role: 'user', content: 'hi' }],
      max_tokens: 2,
    })
    expect(reply.status).toBe(200)
    await call('/unload', { model_path: 'owner/some-GGUF' })
    expect(await states()).toEqual(['echo: ready', 'tiny: stopped'])
  })

  test('is cancelled before it comes', async () => {
    await openHub()
    await call('/unload', { model_path: 'owner/some', load_request_id: 'early' })
    expect((await call('/load', { model_path: 'owner/some', load_request_id: 'early' })).status).toBe(499)
    expect((await call('/load', { model_path: 'owner/some', load_request_id: 'early' })).status).toBe(200)
  })

  test('goes on while other requests are answered', async () => {
    const hub = await openHub()
    const resume = hub.hold()
    const loading = call('/load', { model_path: 'owner/some' })
    await until(async () => (await call('/load-progress')).body.phase === 'downloading')
    const { text } = await startStream('tiny')
    resume()
    expect(await text).toContain('"finish_reason":"length"')
    expect((await loading).body).toMatchObject({ status: 'loaded' })
  })
})

describe('C44: a load that is cancelled while the engine starts', () => {
  test('leaves no process, and no settings', async () => {
    const client = new AbortController()
    const left = call('/load', { model_path: 'tiny', max_seq_length: 300 }, { signal: client.signal })
    left.catch(() => undefined)
    await until(async () => /starting|loading/.test((await states()).join()))
    client.abort()
    await until(async () => (await states()).includes('tiny: stopped'))
    await until(async () => (await call('/load-progress')).body.phase === 'ready')
    expect((await call('/load', { model_path: 'tiny' })).body).not.toMatchObject({ context_length: 300 })
  })
})
