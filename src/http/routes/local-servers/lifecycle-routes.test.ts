import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { startApp, until } from '../../../../test/support/http/app.ts'
import { type LoadingApp, startLoadingApp } from '../../../../test/support/http/loading-app.ts'
import { soon } from '../../../../test/support/process/stall-bound.ts'
import { openHub } from '../../../../test/support/upstream/hub.ts'

let app: LoadingApp
beforeEach(async () => {
  app = await startLoadingApp()
})
afterEach(() => app.close())

const send: LoadingApp['send'] = (...call) => app.send(...call)
const call: LoadingApp['call'] = (...args) => app.call(...args)
const states = () => app.states()

describe('a load from a repository', () => {
  test('C45: is cancelled by its own id, of its own key', async () => {
    const hub = await openHub()
    hub.hold()
    const loading = call('/load', { model_path: 'owner/some', load_request_id: 'one' })
    await until(async () => (await call('/load-progress')).body.phase === 'downloading')
    const cancel = (id: string, key?: string) =>
      call('/unload', { model_path: 'owner/some', load_request_id: id }, key === undefined ? {} : { key })
    expect((await cancel('two')).body).toMatchObject({ status: 'cancelled', cancelled: 0 })
    expect((await cancel('one', 'other')).body).toMatchObject({ cancelled: 0 })
    const loaded = await soon(async () => {
      expect((await call('/unload', { load_request_id: 'one' })).body).toEqual({ status: 'cancelled', model: null, cancelled: 1 })
      return loading
    })
    expect(loaded.status).toBe(499)
    expect((await call('/status')).body).toMatchObject({ loading: [], active_model: 'echo' })
  })

  test('C44: is cancelled by unloading its model, and by a client that leaves', async () => {
    const hub = await openHub()
    hub.hold()
    const loading = call('/load', { model_path: 'owner/some' })
    await until(async () => (await call('/load-progress')).body.phase === 'downloading')
    expect((await call('/unload', { model_path: 'owner/some' }, { key: 'other' })).status).toBe(409)
    const loaded = await soon(async () => {
      expect((await call('/unload', { model_path: 'Owner/Some' })).status).toBe(200)
      return loading
    })
    expect(loaded.status).toBe(499)
    const client = new AbortController()
    const left = call('/load', { model_path: 'owner/some' }, { signal: client.signal })
    left.catch(() => undefined)
    await until(async () => (await call('/load-progress')).body.phase === 'downloading')
    await soon(() => {
      client.abort()
      return until(async () => (await call('/load-progress')).body.phase !== 'downloading')
    })
    expect(await states()).toEqual(['echo: ready', 'tiny: stopped'])
  })
})

describe('a load by the path of a file or a folder', () => {
  const copy = async (...path: readonly string[]) => {
    const folder = join(app.modelsFolder, ...path)
    await mkdir(folder, { recursive: true })
    await cp(join(app.modelsFolder, 'tiny.gguf'), join(folder, 'tiny.gguf'))
    return folder
  }

  test('is one of the model that the models folder has there', async () => {
    const folder = await copy('some')
    const { status, body } = await call('/load', { model_path: folder })
    expect([status, body]).toMatchObject([200, { status: 'loaded' }])
    expect((await states()).filter((state) => state.endsWith('ready'))).toHaveLength(2)
    expect((await call('/load', { model_path: join(app.modelsFolder, 'tiny.gguf') })).body).toMatchObject({ model: 'tiny' })
  })

  test('of two with one name loads both', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'dragoman-other-'))
    onTestFinished(() => rm(outside, { recursive: true }))
    for (const name of ['a', 'b']) {
      await mkdir(join(outside, name, 'same'), { recursive: true })
      await cp(join(app.modelsFolder, 'tiny.gguf'), join(outside, name, 'same', 'x.gguf'))
    }
    const load = async (name: string) => (await call('/load', { model_path: join(outside, name, 'same') })).body.model
    expect([await load('a'), await load('b'), await load('a')]).toEqual(['same', 'b-same', 'same'])
    expect(await states()).toEqual(expect.arrayContaining(['same: ready', 'b-same: ready']))
  })

  test('knows the quantization that the file says and its name does not', async () => {
    expect((await call('/validate', { model_path: 'tiny', gguf_variant: 'Q8_0' })).body).toMatchObject({ is_gguf: true })
    expect((await call('/validate', { model_path: 'echo' })).body).toMatchObject({ is_gguf: false })
  })
})

describe('what is refused', () => {
  test.each<[object, number, string | null]>([
    [{}, 400, 'model_path'],
    [{ model_path: 'unknown' }, 404, 'model_path'],
    [{ model_path: './tiny.gguf' }, 404, 'model_path'],
    [{ model_path: '/nowhere/x.gguf' }, 404, 'model_path'],
    [{ model_path: '../../etc/passwd' }, 404, 'model_path'],
    [{ model_path: 'http://example.com/x.gguf' }, 400, 'model_path'],
    [{ model_path: 'tiny', gguf_variant: 'Q4_0' }, 400, 'gguf_variant'],
    [{ model_path: 'tiny', trust_remote_code: true }, 400, 'trust_remote_code'],
    [{ model_path: 'tiny', gpu_ids: [0] }, 400, 'gpu_ids'],
    [{ model_path: 'tiny', llama_extra_args: ['--host', '0.0.0.0'] }, 400, 'llama_extra_args'],
    [{ model_path: 'tiny', cache_type_kv: 'q3_0' }, 400, 'cache_type_kv'],
    [{ model_path: 'tiny', max_seq_length: -1 }, 400, 'max_seq_length'],
    [{ model_path: 'tiny', chat_template_override: '{{ nope(' }, 400, 'chat_template_override'],
    [{ model_path: 'echo', speculative_type: 'ngram-mod' }, 400, 'speculative_type'],
    [{ model_path: 'echo', gpu_layers: 1 }, 400, 'gpu_layers'],
  ])('%j gets %i', async (body, status, param) => {
    const reply = await call('/load', body)
    expect(reply).toMatchObject({ status, body: { detail: expect.any(String), error: { param } } })
  })

  test('a key without the scope', async () => {
    for (const path of ['/load', '/unload', '/validate']) {
      expect((await call(path, { model_path: 'tiny' }, { key: 'user' })).status).toBe(403)
    }
    expect((await call('/status', undefined, { key: 'user' })).status).toBe(200)
  })
})

test('a model is found without loading it', async () => {
  await openHub()
  expect((await call('/validate', { model_path: 'tiny' })).body).toMatchObject({ valid: true, identifier: 'tiny', is_gguf: true })
  expect((await call('/validate', { model_path: 'o/r', gguf_variant: 'Q4_K_M' })).body).toMatchObject({ gguf_variant: 'Q4_K_M' })
  const wrong = await call('/validate', { model_path: 'o/r', gguf_variant: 'Q2_K' })
  expect(wrong.body).toMatchObject({ detail: "gguf_variant 'Q2_K' is not there; there are: Q4_K_M, Q8_0" })
  expect((await call('/validate', { model_path: 'o/r' })).body).toMatchObject({ valid: true })
  expect(await states()).toEqual(['echo: ready', 'tiny: stopped'])
})

test('a gated repository is looked up with the token of the request', async () => {
  const hub = await openHub()
  const found = await call('/validate', { model_path: 'o/r', gguf_variant: 'Q8_0', hf_token: 'hf_secret' })
  expect(found.body).toMatchObject({ valid: true, gguf_variant: 'Q8_0' })
  expect(hub.seen.map(({ headers }) => headers.authorization)).toEqual(hub.seen.map(() => 'Bearer hf_secret'))
  expect(hub.seen).not.toEqual([])
})

describe('a model that is not there is not valid', () => {
  test('in a repository', async () => {
    const hub = await openHub()
    expect((await call('/validate', { model_path: 'hf:o/r/none.gguf' })).status).toBe(404)
    expect((await call('/validate', { model_path: 'hf:o/r/x-Q8_0.gguf' })).body).toMatchObject({ valid: true })
    expect(hub.seen.every(({ url }) => url.startsWith('/api/models/'))).toBe(true)
  })

  test('on a hub that nobody reaches', async () => {
    vi.stubEnv('HF_ENDPOINT', 'http://127.0.0.1:9')
    onTestFinished(() => void vi.unstubAllEnvs())
    expect((await call('/validate', { model_path: 'nope/none' })).status).toBe(503)
  })

  test('on this machine, whose other files are not told apart from those that are not there', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dragoman-private-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    await writeFile(join(folder, 'token'), 'hf_secret_secret_secret')
    await mkdir(join(folder, 'empty'))
    const answers = await Promise.all(
      ['none', 'token', 'empty', 'token/x'].flatMap((name) =>
        ['/validate', '/load'].map(async (route) => {
          const path = join(folder, name)
          const { status, body } = await call(route, { model_path: path })
          return JSON.stringify([status, body]).replaceAll(path, 'PATH')
        }),
      ),
    )
    expect(new Set(answers).size).toBe(1)
    expect(answers[0]).toMatch(/^\[404,.*there is no GGUF model at/)
    expect(answers.join()).not.toContain('hf_secret')
  })
})

test('every protocol is mounted beside these routes', async () => {
  const messages = [{ role: 'user', content: 'hello' }]
  const bodies = {
    '/chat/completions': { messages },
    '/completions': { prompt: 'hello' },
    '/messages': { messages, max_tokens: 10 },
    '/responses': { input: 'hello' },
    '/embeddings': { input: 'hello' },
  }
  for (const [path, body] of Object.entries(bodies)) {
    expect((await call(path, { model: 'echo', ...body }, { key: 'user' })).status, path).toBe(200)
  }
  expect((await call('/models')).body).toMatchObject({ object: 'list' })
  expect((await call('/nothing')).status).toBe(404)
})

test('each key sees what it generates', async () => {
  const content = '{"chunks":["a","b"],"delayMs":60000}'
  const client = new AbortController()
  const { signal } = client
  const body = { messages: [{ role: 'user', content }], session_id: 'talk', stream: true }
  const chat = send('/v1/chat/completions', body, { key: 'user', signal })
  chat.catch(() => undefined)
  const active = async (key: string) => (await call('/active-generations', undefined, { key })).body
  await until(async () => (await active('user')).count === 1)
  expect(await active('user')).toMatchObject({
    thread_ids: ['talk'],
    active: [{ thread_id: 'talk', kind: 'chat', id: expect.stringMatching(/^chatcmpl-/), model: 'echo' }],
  })
  expect(await active('other')).toMatchObject({ count: 0, thread_ids: [], active: [] })
  client.abort()
  await until(async () => (await active('user')).count === 0)
})

test('the legacy route is for a model that its key may use', async () => {
  const own = await startApp({
    builtinModel: false,
    models: ['a', 'b'].map((id) => ({ engine: 'fake', id, script: 'from-request' })),
    server: { apiKeys: [{ key: 'of-b', name: 'of-b', models: ['b'] }] },
  })
  onTestFinished(() => own.close())
  const ask = (more: object = {}) =>
    fetch(`${own.url}/api/inference/generate/stream`, {
      method: 'POST',
      headers: { authorization: 'Bearer of-b', 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'hello' }], ...more }),
    })
  expect(await (await ask()).text()).toContain('hello')
  expect((await ask({ model: 'b' })).status).toBe(200)
  expect((await ask({ model: 'a' })).status).toBe(404)
})

test('the legacy route streams the text of the active model', async () => {
  const response = await send('/api/inference/generate/stream', { messages: [{ role: 'user', content: 'hello there' }] })
  const text = await response.text()
  expect(text).toContain('data: {"content":"hello')
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
  const refused = await send('/api/inference/generate/stream', {
    messages: [{ role: 'user', content: 'x' }],
    max_new_tokens: 5000,
  })
  expect(await refused.json()).toMatchObject({ error: { param: 'max_new_tokens' } })
})

describe("llama-server's routes", () => {
  test('a load begins with the reply, and the model is unloaded as it was', async () => {
    const load = await send('/models/load', { model: 'tiny' })
    expect([load.status, await load.json()]).toEqual([200, { success: true }])
    await until(async () => (await states()).includes('tiny: ready'))
    const unload = await send('/models/unload', { model: 'tiny' })
    expect([unload.status, await unload.json()]).toEqual([200, { success: true }])
    expect(await states()).toEqual(['echo: ready', 'tiny: stopped'])
  })

  const readEvents = async (key = 'admin') => {
    const end = new AbortController()
    const reply = await fetch(`${app.url}/models/sse`, { headers: { authorization: `Bearer ${key}` }, signal: end.signal })
    const events: { readonly model: string; readonly event: string; readonly data?: Readonly<Record<string, unknown>> }[] = []
    const reading = (async () => {
      for await (const text of reply.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        events.push(...text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : [])))
      }
    })().catch(() => undefined)
    onTestFinished(async () => {
      end.abort()
      await reading
    })
    expect(reply.headers.get('content-type')).toContain('text/event-stream')
    return events
  }

  test('a reader of events sees loads, unloads and the end of a load that was not needed', async () => {
    const events = await readEvents('user')
    const ends = (status: string) => events.filter(({ model, data }) => model === 'tiny' && data?.status === status).length
    await send('/models/load', { model: 'tiny' })
    await until(async () => ends('loaded') === 1)
    expect(events[0]).toEqual({ model: 'tiny', event: 'model_status', data: { status: 'loading' } })
    await send('/models/load', { model: 'tiny' })
    await until(async () => ends('loaded') === 2)
    await send('/models/unload', { model: 'tiny' })
    await until(async () => ends('unloaded') >= 1)
    expect(events.at(-1)).toEqual({ model: 'tiny', event: 'status_change', data: { status: 'unloaded', exit_code: 0 } })
  })

  test('a model of a repository is fetched, listed as what a request has added, and removed with its file', async () => {
    await openHub()
    const files = async () =>
      (await readdir(join(app.home, 'models'), { recursive: true })).filter((name) => name.endsWith('.gguf'))
    const events = await readEvents()
    const has = (event: string) => events.some((one) => one.event === event)
    const fetched = await send('/models', { model: 'owner/some' })
    expect([fetched.status, await fetched.json()]).toEqual([200, { success: true }])
    await until(async () => has('download_finished') && has('models_reload'))
    const rows = async () =>
      ((await (await send('/models')).json()) as { readonly data: unknown }).data as {
        id: string
        aliases: string[]
        can_remove: boolean
      }[]
    const added = (await rows()).find(({ can_remove }) => can_remove)
    expect([added?.id, ...(added?.aliases ?? [])]).toContain('owner/some')
    expect((await send('/models', { model: 'owner/some' })).status).toBe(400)
    expect(await files()).toHaveLength(1)
    const remove = (query: string, key?: string) =>
      fetch(`${app.url}/models${query}`, { method: 'DELETE', headers: { authorization: `Bearer ${key ?? 'admin'}` } })
    expect((await remove(`?model=${added?.id}`, 'user')).status).toBe(403)
    const removed = await remove(`?model=${added?.id}`)
    expect([removed.status, await removed.json()]).toEqual([200, { success: true }])
    expect((await rows()).map(({ id }) => id)).not.toContain(added?.id)
    expect(await files()).toEqual([])
    await until(async () => has('model_remove'))
    expect((await remove('?model=tiny')).status).toBe(403)
    expect((await remove('?model=nothing')).status).toBe(404)
    expect((await remove('')).status).toBe(400)
  })

  test.each([[{}], [{ model: '' }], [{ model: 'small' }], [{ model: 'https://example.com/a/b' }], [{ model: '../x' }]])(
    'a download of %j is refused before anything is asked',
    async (body) => {
      const reply = await send('/models', body)
      expect([reply.status, await reply.json()]).toMatchObject([400, { error: { param: 'model' } }])
      expect((await send('/models', { model: 'owner/some' }, { key: 'user' })).status).toBe(403)
    },
  )

  test('properties without the name of a model are those of a router, and load nothing', async () => {
    const props = async (query = '') =>
      (await send(`/props${query}`)).json() as Promise<{ readonly error?: { readonly message: string } }>
    expect(await props()).toMatchObject({ role: 'router', max_instances: 2, models_autoload: true })
    expect((await props('?model=tiny&autoload=false')).error?.message).toContain('is not loaded')
    expect(await states()).toContain('tiny: stopped')
    const tiny = await props('?model=tiny')
    expect(tiny).toMatchObject({ model_alias: 'tiny', is_sleeping: false, default_generation_settings: { params: {} } })
    expect(tiny).not.toHaveProperty('role')
    expect(await states()).toContain('tiny: ready')
  })

  test('an unknown model is a 404 at once, and other keys may not load', async () => {
    for (const path of ['/models/load', '/models/unload']) {
      const reply = await send(path, { model: 'nothing' })
      expect([reply.status, await reply.json()], path).toMatchObject([404, { error: { param: 'model' } }])
    }
    expect((await send('/models/load', { model: 'tiny' }, { key: 'user' })).status).toBe(403)
  })

  test('a load with a key of an operator, or of tabbyAPI, decides about requests without a model, and that of anyone does not', async () => {
    const ask = async (url: string, key: string) => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const body = JSON.stringify({ prompt: 'a', max_tokens: 1 })
      const reply = await fetch(`${url}/v1/completions`, { method: 'POST', headers, body })
      return ((await reply.json()) as { model: string }).model
    }
    await send('/models/load', { model: 'tiny' })
    await until(async () => (await ask(app.url, 'admin')) === 'tiny')

    const models = ['echo', 'other'].map((id) => ({ engine: 'fake', id, script: 'from-request' }) as const)
    const open = await startApp({ builtinModel: false, models })
    onTestFinished(() => open.close())
    const load = (path: string, body: object) =>
      fetch(`${open.url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
    expect((await load('/models/load', { model: 'other' })).status).toBe(200)
    expect((await load('/api/inference/load', { model_path: 'other' })).status).toBe(200)
    expect(await ask(open.url, '')).toBe('echo')
    expect(await (await load('/v1/model/load', { model_name: 'other' })).text()).toContain('finished')
    expect(await ask(open.url, '')).toBe('other')
  })
})
