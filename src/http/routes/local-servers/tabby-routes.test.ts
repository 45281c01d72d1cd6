import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../../../test/support/http/app.ts'

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
  expect((await call('/v1/model/unload', {})).status).toBe(503)
})

test('what no request has loaded is not unloaded without its name', async () => {
  await call('/v1/chat/completions', { model: 'echo', messages: [{ role: 'user', content: 'hi' }] })
  expect(JSON.parse((await call('/v1/model?model=echo')).text)).toMatchObject({ state: 'ready' })
  expect((await call('/v1/model/unload', {})).status).toBe(503)
  await call('/v1/model/load', { model_name: 'other' })
  expect((await call('/v1/model/unload', {})).status).toBe(200)
  expect((await call('/v1/model/unload', {})).status).toBe(503)
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
  expect((await call('/v1/model/embedding')).status).toBe(503)
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
