import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestServer, type TestServerOptions } from '../../../test/support/http/test-server.ts'
import { stubEngine } from '../../../test/support/upstream/stub-engine.ts'
import { hashApiKey } from '../../app/keys/made-keys.ts'
import { allScopes } from '../../contract/principal.ts'
import { createFakeEngine } from '../../engine/fake/engine.ts'
import { TemplateFolder } from '../../registry/names/template-folder.ts'

/** It says how its model writes, too. */
const marked = `{% set stop_strings = ["STOP"] %}{% set tool_start = "<<" %}{% set tool_end = ">>" %}{% set tool_call_format = "json" %}
{%- for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[say]{% endif %}{{ tone }}`

let folder: string
let app: FastifyInstance

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-request-template-'))
  await writeFile(join(folder, 'own.jinja'), 'own:{{ messages[0].content }}')
  await writeFile(join(folder, 'marked.jinja'), marked)
  await writeFile(join(folder, 'broken.jinja'), '{% if %}')
})
afterAll(() => rm(folder, { recursive: true, force: true }))
beforeEach(() => {
  app = serve()
})

function serve(options: Partial<TestServerOptions> = {}): FastifyInstance {
  const engine = createFakeEngine({ script: 'from-request', chatTemplate: join(folder, 'own.jinja') })
  return createTestServer({ engine, templates: new TemplateFolder(folder), ...options }).app
}

async function post(url: string, payload: object, { key = '', server = app } = {}) {
  const headers = key === '' ? {} : { authorization: `Bearer ${key}` }
  const reply = await server.inject({ method: 'POST', url, payload, headers })
  return { status: reply.statusCode, json: reply.json(), ignored: reply.headers['x-dragoman-ignored'] }
}
const said = (content: string) => [{ role: 'user', content }]
const raw = (text: string) => said(JSON.stringify({ raw: text }))
const named = (template: string | null, more: object = {}) => ({ prompt_template: template, messages: said('hi'), ...more })
const chat = (body: object) => post('/v1/chat/completions', { model: 'default', ...body })

describe('the template of a request', () => {
  test.each<[string | null, string]>([
    ['marked', '[user]hi[say]'],
    ['model', 'own:hi'],
    ['', 'own:hi'],
    [null, 'own:hi'],
  ])('%j renders it alone', async (name, prompt) => {
    expect((await post('/apply-template', named(name))).json).toEqual({ prompt })
    expect((await post('/apply-template', { messages: said('hi') })).json).toEqual({ prompt: 'own:hi' })
  })

  test('stands above what was switched to, of which `model` is the way back', async () => {
    await post('/v1/template/switch', { prompt_template_name: 'marked' })
    expect((await post('/apply-template', named('model'))).json).toEqual({ prompt: 'own:hi' })
    await post('/v1/template/unload', {})
    expect((await post('/apply-template', named('marked'))).json).toEqual({ prompt: '[user]hi[say]' })
    expect((await chat(named('marked'))).status).toBe(200)
    expect((await chat({ messages: said('hi') })).status).toBe(400)
  })

  test('is counted and tokenized, also as tabbyAPI encodes', async () => {
    const bytes = Buffer.from('[user]hi')
    const encoded = await post('/v1/token/encode', { text: said('hi'), prompt_template: 'marked' })
    expect(encoded.json).toEqual({ tokens: [...bytes], length: bytes.length })
    expect((await post('/v1/token/encode', { text: said('hi') })).json.length).toBe('own:hi'.length)
  })

  test('says which calls are read, and what ends the answer, of this request only', async () => {
    const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
    const calling = { messages: raw('so <<[{"name":"f","arguments":{}}]>>'), tools }
    const [called, plain] = await Promise.all([chat({ prompt_template: 'marked', ...calling }), chat(calling)])
    expect(called.json.choices[0].message).toMatchObject({ tool_calls: [{ function: { name: 'f' } }] })
    expect(called.json.choices[0].message.content).not.toContain('<<')
    expect(plain.json.choices[0].message.content).toContain('<<')
    const stopping = { messages: raw('one STOP two') }
    const [stopped, whole] = await Promise.all([chat({ prompt_template: 'marked', ...stopping }), chat(stopping)])
    expect(stopped.json.choices[0].message.content).toBe('one ')
    expect(whole.json.choices[0].message.content).toBe('one STOP two')
  })

  test('decides which variables have an effect', async () => {
    const variables = { template_vars: { tone: 'dry' } }
    expect((await chat(named('marked', variables))).ignored).toBeUndefined()
    expect((await chat({ messages: said('hi'), ...variables })).ignored).toBe('template_vars.tone')
  })

  test.each<[string, string, object]>([
    ['chat', '/v1/chat/completions', named('none', { model: 'default' })],
    ['responses', '/v1/responses', { model: 'default', input: 'hi', prompt_template: 'none', store: false }],
    ['tokens', '/v1/token/encode', { text: said('hi'), prompt_template: 'none' }],
    ['a count', '/v1/chat/completions/input_tokens', named('none')],
  ])('in %s has one of the known names', async (_, url, body) => {
    const { status, json } = await post(url, body)
    expect([status, json.error.param]).toEqual([400, 'prompt_template'])
    expect(json.error.message).toContain("no template 'none'; choose one of: model, broken, marked, own")
  })

  test('may be wrong, which fails this request', async () => {
    expect((await chat(named('broken'))).json.error).toMatchObject({ code: 'template_failed' })
    expect((await chat({ messages: said('hi') })).status).toBe(200)
  })

  test('is refused by an engine that has no way to it, before it runs', async () => {
    const server = serve({ engine: stubEngine({ prepare: async () => ({ run: async () => undefined }) }) })
    const { status, json } = await post('/v1/chat/completions', named('marked', { model: 'default' }), { server })
    expect([status, json.error.param]).toEqual([400, 'prompt_template'])
  })

  test('does not come from a text of the caller', async () => {
    const { status, json } = await chat({ chat_template: marked, messages: said('hi') })
    expect([status, json.error.message]).toEqual([400, expect.stringContaining('prompt_template')])
  })
})

test('a key needs the scope admin to name one, unless the operator opens it to all', async () => {
  const apiKeys = [
    { hash: hashApiKey('k-admin'), scopes: allScopes },
    { hash: hashApiKey('k-user'), scopes: new Set(['inference'] as const) },
  ]
  const keyed = (areOpen: boolean) => {
    const store = new TemplateFolder(folder)
    const templates = { list: () => store.list(), read: (name: string) => store.read(name), areOpen }
    return serve({ auth: { apiKeys }, templates })
  }
  const [closed, open] = [keyed(false), keyed(true)]
  for (const [url, body] of [
    ['/v1/chat/completions', named('marked', { model: 'default' })],
    ['/apply-template', named('marked')],
    ['/v1/token/encode', { text: said('hi'), prompt_template: 'marked' }],
  ] as const) {
    const refused = await post(url, body, { key: 'k-user', server: closed })
    expect([refused.status, refused.json.error.message]).toEqual([
      403,
      expect.stringContaining("prompt_template needs a key with the scope 'admin'"),
    ])
    expect((await post(url, body, { key: 'k-admin', server: closed })).status).toBe(200)
    expect((await post(url, body, { key: 'k-user', server: open })).status).toBe(200)
  }
})
