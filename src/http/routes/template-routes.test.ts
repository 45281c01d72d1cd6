import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createTestServer } from '../../../test/support/http/test-server.ts'
import { stubEngine } from '../../../test/support/upstream/stub-engine.ts'
import { hashApiKey } from '../../app/keys/made-keys.ts'
import { allScopes } from '../../contract/principal.ts'
import { createFakeEngine } from '../../engine/fake/engine.ts'
import { TemplateFolder } from '../../registry/names/template-folder.ts'

let folder: string
let app: FastifyInstance

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-template-routes-'))
  await writeFile(join(folder, 'own.jinja'), 'own:{{ messages[0].content }}')
  await writeFile(join(folder, 'loud.jinja'), 'loud:{{ messages[0].content | upper }}')
  await writeFile(join(folder, 'broken.jinja'), '{% if %}')
  await symlink('/etc/passwd', join(folder, 'passwd.jinja'))
  app = serve({ chatTemplate: join(folder, 'own.jinja') })
})
afterEach(async () => {
  await app.close()
  await rm(folder, { recursive: true, force: true })
})

function serve(options: { chatTemplate?: string }): FastifyInstance {
  const engine = createFakeEngine({ script: 'from-request', ...options })
  return createTestServer({ engine, templates: new TemplateFolder(folder) }).app
}

async function call(method: 'GET' | 'POST', url: string, payload?: object, server = app) {
  const reply = await server.inject({ method, url, ...(payload !== undefined && { payload }) })
  return { status: reply.statusCode, json: reply.json() }
}
const switchTo = (name: string) => call('POST', '/v1/template/switch', { prompt_template_name: name })
const messages = [{ role: 'user', content: 'hi' }]
const prompt = async () => (await call('POST', '/apply-template', { messages })).json.prompt

describe('chat templates', () => {
  test.each(['/v1/templates', '/v1/template/list', '/v1/templates?model=default'])('GET %s lists all', async (url) => {
    const { status, json } = await call('GET', url)
    expect(status).toBe(200)
    expect(json).toEqual({ object: 'list', data: ['model', 'broken', 'loud', 'own'], selected: 'model' })
  })

  test('can be switched to one of the folder and back to the own one', async () => {
    expect(await prompt()).toBe('own:hi')
    expect((await switchTo('loud')).json.selected).toBe('loud')
    expect(await prompt()).toBe('loud:HI')
    const { parameters } = (await call('GET', '/v1/model')).json
    expect(parameters).toMatchObject({ prompt_template: 'loud', prompt_template_content: expect.stringContaining('upper') })
    await switchTo('model')
    expect(await prompt()).toBe('own:hi')
    expect((await call('GET', '/v1/model')).json.parameters.prompt_template).toBe('model')
  })

  test('without a template chats are refused and plain text works', async () => {
    expect((await call('POST', '/v1/template/unload')).json.selected).toBeNull()
    const chat = await call('POST', '/v1/chat/completions', { model: 'default', messages })
    expect([chat.status, chat.json.error.message]).toEqual([400, expect.stringContaining('unloaded')])
    expect((await call('POST', '/v1/completions', { model: 'default', prompt: 'hi' })).status).toBe(200)
    await switchTo('loud')
    expect((await call('POST', '/v1/chat/completions', { model: 'default', messages })).status).toBe(200)
  })

  test('unloading reports unknown fields, and accepts an empty body of any content type', async () => {
    const named = await app.inject({ method: 'POST', url: '/v1/template/unload', payload: { modle: 'x' } })
    expect([named.statusCode, named.headers['x-dragoman-ignored']]).toEqual([200, 'modle'])
    const headers = { 'content-type': 'application/json' }
    const empty = await app.inject({ method: 'POST', url: '/v1/template/unload', headers, payload: '' })
    expect([empty.statusCode, empty.headers['x-dragoman-ignored']]).toEqual([200, undefined])
  })

  test.each<[object, string, string]>([
    [{ prompt_template_name: 'none' }, 'prompt_template_name', 'choose one of: model, broken, loud, own'],
    [{ prompt_template_name: '../own' }, 'prompt_template_name', 'choose one of:'],
    [{ prompt_template_name: 'passwd' }, 'prompt_template_name', 'choose one of:'],
    [{ prompt_template_name: '/etc/passwd' }, 'prompt_template_name', 'choose one of:'],
    [{}, 'prompt_template_name', 'missing'],
    [{ prompt_template_name: 7 }, 'prompt_template_name', 'a string'],
    [{ prompt_template_name: 'loud', name: 'own' }, 'name', 'the same field'],
  ])('switching to %j is refused without a change', async (body, param, message) => {
    const { status, json } = await call('POST', '/v1/template/switch', body)
    expect([status, json.error.param]).toEqual([400, param])
    expect(json.error.message).toContain(message)
    expect(await prompt()).toBe('own:hi')
  })

  test('an invalid template is refused, and the current one stays', async () => {
    const { status, json } = await switchTo('broken')
    expect([status, json.error.message]).toEqual([400, expect.stringContaining('does not parse')])
    expect(await prompt()).toBe('own:hi')
    expect((await call('GET', '/v1/templates')).json.selected).toBe('model')
  })

  test('a scripted model without a template can get one, and be switched back to none', async () => {
    const bare = serve({})
    expect((await call('GET', '/v1/templates', undefined, bare)).json).toMatchObject({
      data: ['model', 'broken', 'loud', 'own'],
      selected: null,
    })
    await call('POST', '/v1/template/switch', { name: 'loud' }, bare)
    expect((await call('POST', '/apply-template', { messages }, bare)).json.prompt).toBe('loud:HI')
    const { status, json } = await call('POST', '/v1/template/switch', { prompt_template_name: 'model' }, bare)
    expect([status, json.selected]).toEqual([200, null])
    await bare.close()
  })

  test('the tool format changes with the template', async () => {
    const hermes = '{% for m in messages %}{{ m.content }}{% endfor %}{# <tool_call> {"name": } </tool_call> #}'
    await writeFile(
      join(folder, 'hermes.jinja'),
      `${hermes}{% if tools %}<tool_call>{"name": "f", "arguments": {}}</tool_call>{% endif %}`,
    )
    const raw = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    const body = {
      model: 'default',
      messages: [{ role: 'user', content: JSON.stringify({ raw }) }],
      tools: [{ type: 'function', function: { name: 'f' } }],
    }
    await switchTo('hermes')
    const { json } = await call('POST', '/v1/chat/completions', body)
    expect(json.choices[0].finish_reason).toBe('tool_calls')
    await switchTo('own')
    await call('POST', '/v1/template/unload')
  })

  test('what a template says of stop sequences and calls holds from the switch to it on, and no longer', async () => {
    const metadata = "{% set stop_strings = ['STOPME'] %}{% set tool_start = '<|call|>' %}{% set tool_end = '<|done|>' %}"
    await writeFile(join(folder, 'tabby.jinja'), `${metadata}{% for m in messages %}{{ m.content }}{% endfor %}`)
    const tools = [{ type: 'function', function: { name: 'f' } }]
    const reply = async (raw: string) => {
      const asked = [{ role: 'user', content: JSON.stringify({ raw }) }]
      const { json } = await call('POST', '/v1/chat/completions', { model: 'default', messages: asked, tools })
      const { message, finish_reason, stop_reason } = json.choices[0]
      return [message.content, message.tool_calls?.[0].function.name, finish_reason, stop_reason]
    }
    const stopped = 'abc STOPME def'
    const called = 'sure <|call|>[{"function": {"name": "f", "arguments": {}}}]<|done|>STOPME and more'
    await switchTo('tabby')
    expect(await reply(stopped)).toEqual(['abc ', undefined, 'stop', undefined])
    expect(await reply(called)).toEqual(['sure ', 'f', 'tool_calls', undefined])
    await switchTo('model')
    expect(await reply(stopped)).toEqual([stopped, undefined, 'stop', undefined])
  })

  test('unknown models and engines with their own rendering are refused by name', async () => {
    const unknown = await call('POST', '/v1/template/switch', { prompt_template_name: 'loud', model: 'x' })
    expect([unknown.status, unknown.json.error.param]).toEqual([404, 'model'])
    const server = createTestServer({ engine: stubEngine() }).app
    const reply = await call('POST', '/v1/template/switch', { prompt_template_name: 'model' }, server)
    expect([reply.status, reply.json.error.param]).toEqual([400, 'model'])
    await server.close()
  })

  test('all routes require a key when keys are configured', async () => {
    const engine = createFakeEngine({ script: 'from-request' })
    const guarded = createTestServer({ engine, auth: { apiKeys: [{ hash: hashApiKey('secret'), scopes: allScopes }] } }).app
    for (const action of ['switch', 'unload']) {
      const reply = await guarded.inject({ method: 'POST', url: `/v1/template/${action}`, payload: { name: 'loud' } })
      expect(reply.statusCode).toBe(401)
    }
    await guarded.close()
  })
})
