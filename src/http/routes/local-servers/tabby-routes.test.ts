import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningApp, startApp, until } from '../../../../test/support/http/app.ts'

/** A script that waits an hour before its second chunk. */
const endless = JSON.stringify({ chunks: ['a', 'b'], delayMs: 3_600_000 })

let app: RunningApp
let templates: string
beforeAll(async () => {
  templates = await mkdtemp(join(tmpdir(), 'dragoman-tabby-'))
  await writeFile(join(templates, 'loud.jinja'), '{{ messages[0].content | upper }}')
  app = await startApp({
    builtinModel: false,
    models: [
      { engine: 'fake', id: 'echo', script: 'from-request', load: 'demand' },
      { engine: 'fake', id: 'other', script: 'from-request', load: 'demand' },
      { engine: 'llama', id: 'gone', source: '/nowhere/gone.gguf', load: 'demand' },
    ],
    templates,
    server: { adminKey: 'admin', apiKeys: ['user'] },
  })
})
afterAll(async () => {
  await app.close()
  await rm(templates, { recursive: true, force: true })
})

async function call(path: string, body?: object, headers: Record<string, string> = { authorization: 'Bearer admin' }) {
  const response = await fetch(`${app.url}${path}`, {
    headers: { 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  })
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
}

/** Whether `echo` answers one request. */
const isBusy = async () => /^dragoman_slots_busy\{model="echo"\} 1$/m.test((await call('/metrics')).text)

test('the permission of a key is shown, in whichever header it is', async () => {
  const permission = async (headers: Record<string, string>) =>
    JSON.parse((await call('/v1/auth/permission', undefined, headers)).text)
  expect(await permission({ 'x-admin-key': 'admin' })).toEqual({ permission: 'admin' })
  expect(await permission({ 'x-api-key': 'user' })).toEqual({ permission: 'api' })
  expect((await call('/v1/auth/permission', undefined, {})).status).toBe(401)
})

test('the models are listed, and those that embed', async () => {
  const list = async (path: string) => JSON.parse((await call(path)).text).data.map(({ id }: { id: string }) => id)
  expect(await list('/v1/model/list')).toEqual(['echo', 'other', 'gone'])
  expect(await list('/v1/model/draft/list')).toEqual(['echo', 'other', 'gone'])
  expect(await list('/v1/model/embedding/list')).toEqual(['echo', 'other', 'gone'])
})

test('a load is a stream of events, and an unload frees the model', async () => {
  const loaded = await call('/v1/model/load', { model_name: 'echo', max_seq_len: 100 })
  expect(loaded).toMatchObject({ status: 200, type: expect.stringContaining('text/event-stream') })
  expect(loaded.text).toContain('data: {"model_type":"model","module":100,"modules":100,"status":"finished"}\n\n')
  const again = await call('/v1/model/load', { model_name: 'echo', max_seq_len: 100 })
  expect(again.text).toBe('data: {"model_type":"model","module":1,"modules":1,"status":"finished"}\n\n')
  expect(JSON.parse((await call('/v1/model?model=echo')).text)).toMatchObject({
    state: 'ready',
    parameters: { max_seq_len: 100 },
  })
  expect(await call('/v1/model/unload', {})).toMatchObject({ status: 200, text: '{}' })
  expect(JSON.parse((await call('/v1/model?model=echo')).text)).toMatchObject({ state: 'stopped' })
  expect((await call('/v1/model/unload', {})).status).toBe(400)
})

test('what no request has loaded is not unloaded without its name', async () => {
  await call('/v1/chat/completions', { model: 'echo', messages: [{ role: 'user', content: 'hi' }] })
  expect(JSON.parse((await call('/v1/model?model=echo')).text)).toMatchObject({ state: 'ready' })
  expect((await call('/v1/model/unload', {})).status).toBe(400)
  await call('/v1/model/load', { model_name: 'other' })
  expect((await call('/v1/model/unload', {})).status).toBe(200)
  expect((await call('/v1/model/unload', {})).status).toBe(400)
  expect(JSON.parse((await call('/v1/model?model=echo')).text)).toMatchObject({ state: 'ready' })
})

test('the template that a load chooses is the one that cards name', async () => {
  await call('/v1/model/load', { model_name: 'other', prompt_template: 'loud' })
  expect(JSON.parse((await call('/v1/model?model=other')).text)).toMatchObject({ parameters: { prompt_template: 'loud' } })
  expect(JSON.parse((await call('/v1/templates?model=other')).text)).toMatchObject({ selected: 'loud' })
  expect((await call('/v1/model/unload', {})).status).toBe(200)
})

test('a model that embeds is loaded with one reply', async () => {
  const reply = await call('/v1/model/embedding/load', { embedding_model_name: 'echo' })
  expect(JSON.parse(reply.text)).toEqual({ model_type: 'embedding_model', module: 1, modules: 1, status: 'finished' })
  expect(JSON.parse((await call('/v1/model/embedding')).text)).toMatchObject({ id: 'echo' })
  expect((await call('/v1/model/embedding/unload', {})).status).toBe(200)
  expect((await call('/v1/model/embedding')).status).toBe(400)
  expect((await call('/v1/model/embedding/unload', {})).status).toBe(400)
})

test('vectors without the name of a model are those of the one that was loaded to embed', async () => {
  const embedded = async () => JSON.parse((await call('/v1/embeddings', { input: 'a' })).text).model
  await call('/v1/model/load', { model_name: 'echo' })
  await call('/v1/model/embedding/load', { embedding_model_name: 'other' })
  expect(await embedded()).toBe('other')
  expect(JSON.parse((await call('/v1/completions', { prompt: 'a' })).text).model).toBe('echo')
  await call('/v1/model/embedding/unload', {})
  expect(await embedded()).toBe('echo')
  await call('/v1/model/unload', {})
})

test('a load waits for the requests that use the model, and skip_queue ends them', async () => {
  const slow = {
    model: 'echo',
    stream: true,
    messages: [{ role: 'user', content: JSON.stringify({ chunks: ['a', 'b'], delayMs: 300 }) }],
  }
  const first = call('/v1/chat/completions', slow)
  await until(isBusy)
  const loaded = await call('/v1/model/load', { model_name: 'echo', max_seq_len: 200 })
  expect(loaded.text).toContain('"status":"finished"')
  expect((await first).text).toMatch(/"content":"b".*\[DONE\]/s)
  const second = call('/v1/chat/completions', { ...slow, messages: [{ role: 'user', content: endless }] })
  await until(isBusy)
  await call('/v1/model/load', { model_name: 'echo', max_seq_len: 300, skip_queue: true })
  expect((await second).text).toContain('model_unavailable')
  await call('/v1/model/unload', {})
})

test('a loader that leaves while its load waits ends the load, not the request', async () => {
  const chat = call('/v1/chat/completions', { model: 'echo', messages: [{ role: 'user', content: endless }] })
  await until(isBusy)
  const leaving = new AbortController()
  const load = fetch(`${app.url}/v1/model/load`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer admin' },
    body: JSON.stringify({ model_name: 'echo', max_seq_len: 400 }),
    signal: leaving.signal,
  }).catch(() => 'left')
  await until(async () => JSON.parse((await call('/api/inference/status')).text).loading.length === 1)
  leaving.abort()
  expect(await load).toBe('left')
  await until(async () => JSON.parse((await call('/api/inference/status')).text).loading.length === 0)
  expect(await isBusy()).toBe(true)
  await call('/v1/model/load', { model_name: 'echo', max_seq_len: 500, skip_queue: true })
  expect((await chat).status).toBe(503)
})

test("errors have the detail that tabbyAPI's clients show", async () => {
  const failed = JSON.parse((await call('/v1/model/load', { model_name: 'nope' })).text)
  expect(failed).toMatchObject({ detail: failed.error.message, error: { message: expect.stringContaining("'nope'") } })
  expect(JSON.parse((await call('/v1/chat/completions', { model: 'nope', messages: [] })).text)).not.toHaveProperty('detail')
})

test('what is wrong before the load begins has its status', async () => {
  const failure = async (body: object) => {
    const { status, text } = await call('/v1/model/load', body)
    return [status, JSON.parse(text).error.param]
  }
  expect(await failure({ model_name: '../../etc/passwd' })).toEqual([404, 'model_name'])
  expect(await failure({ model_name: 'echo', prompt_template: 'nope' })).toEqual([400, 'prompt_template'])
  expect(await failure({ model_name: 'echo', chunk_size: 5 })).toEqual([400, 'chunk_size'])
  expect(await failure({ model_name: 'gone' })).toEqual([503, null])
  expect((await call('/v1/model/load', { model_name: 'echo' }, { 'x-api-key': 'user' })).status).toBe(403)
})
