import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningApp, startApp } from './support/http/app.ts'
import { fine } from './support/upstream/remote-engine.ts'
import { type ScriptedUpstream, startUpstream } from './support/upstream/upstream.ts'

const template = '{{ messages[-1].content }}|{{ enable_thinking }}|{{ reasoning_effort }}|{{ tone }}|{{ region }}'
let folder: string
let upstream: ScriptedUpstream
let app: RunningApp

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-chat-defaults-'))
  const chatTemplate = join(folder, 'shown.jinja')
  await writeFile(chatTemplate, template)
  await writeFile(join(folder, 'plain.jinja'), '{{ messages[-1].content }}')
  upstream = await startUpstream(fine)
  const chat = { thinking: false, variables: { tone: 'dry' }, forcedVariables: { region: 'eu' } }
  const fake = { engine: 'fake', script: 'from-request' } as const
  const presets = {
    quiet: { enable_thinking: { override: false, force: true }, template_vars: { override: { tone: 'calm', date: 'today' } } },
    loud: { reasoning_effort: { override: 'high' }, template_vars: { override: { region: 'us', date: 'now' }, force: true } },
  }
  app = await startApp({
    builtinModel: false,
    sampling: { presets },
    models: [
      { ...fake, id: 'set', chatTemplate, chat },
      { ...fake, id: 'unset', chatTemplate },
      { ...fake, id: 'plain', chatTemplate: join(folder, 'plain.jinja'), chat },
      { id: 'vllm', engine: 'remote', endpoints: [{ url: upstream.url }], server: 'vllm', upstreamModel: 'up', chat },
    ],
  })
})

afterAll(async () => {
  await app.close()
  await upstream.close()
  await rm(folder, { recursive: true })
})

async function post(path: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  const messages = [{ role: 'user', content: 'hi' }]
  return fetch(app.url + path, { method: 'POST', headers, body: JSON.stringify({ messages, ...body }) })
}

const rendered = async (body: object) => ((await (await post('/apply-template', body)).json()) as { prompt: string }).prompt

test("a conversation has its model's defaults where it says nothing, and what is forced", async () => {
  expect(await rendered({ model: 'unset' })).toBe('hi||||')
  expect(await rendered({ model: 'set' })).toBe('hi|False||dry|eu')
  expect(await rendered({ model: 'set', enable_thinking: true })).toBe('hi|True||dry|eu')
  expect(await rendered({ model: 'set', reasoning_effort: 'high' })).toBe('hi|True|high|dry|eu')
  const variables = { chat_template_kwargs: { tone: 'warm', region: 'us' } }
  expect(await rendered({ model: 'set', ...variables })).toBe('hi|False||warm|eu')
})

test.each([
  ['/v1/chat/completions', {}],
  ['/v1/messages', { max_tokens: 5 }],
  ['/v1/responses', { input: 'hi', messages: undefined }],
  ['/api/chat', { stream: false }],
])('they reach a server behind %s', async (path, body) => {
  upstream.seen.length = 0
  expect((await post(path, { model: 'vllm', ...body })).status).toBe(200)
  expect(upstream.seen.at(-1)?.body).toMatchObject({
    chat_template_kwargs: { enable_thinking: false, tone: 'dry', region: 'eu' },
  })
})

test('what the template has no use for is named in the log, and not to clients, which did not send it', async () => {
  expect((await post('/v1/chat/completions', { model: 'plain' })).headers.get('x-dragoman-ignored')).toBeNull()
  const warned = app.logLines().filter(({ msg = '' }) => msg.includes('`chat`'))
  const unused = ['variables.tone', 'forcedVariables.region', 'thinking']
  expect(warned).toEqual([expect.objectContaining({ model: 'plain', unused })])
})

test("a preset's defaults come before those of the model, and what either forces wins over a request", async () => {
  const sent = async (preset: string | undefined, body: object = {}) => {
    const path = preset === undefined ? 'unload' : 'switch'
    const switched = await post(`/v1/sampling/override/${path}`, preset === undefined ? {} : { preset })
    expect(switched.status).toBe(200)
    const reply = await post('/v1/chat/completions', { model: 'vllm', ...body })
    expect([reply.status, reply.headers.get('x-dragoman-ignored')]).toEqual([200, null])
    return (upstream.seen.at(-1)?.body as { chat_template_kwargs?: object } | undefined)?.chat_template_kwargs
  }
  const asked = { enable_thinking: true, chat_template_kwargs: { date: 'mine' } }
  expect(await sent('quiet', asked)).toMatchObject({ enable_thinking: false, tone: 'calm', date: 'mine', region: 'eu' })
  const loud = { enable_thinking: true, reasoning_effort: 'high', tone: 'dry', date: 'now', region: 'eu' }
  expect(await sent('loud', { chat_template_kwargs: { date: 'mine' } })).toMatchObject(loud)
  expect(await sent(undefined, asked)).toMatchObject({ enable_thinking: true, tone: 'dry', date: 'mine', region: 'eu' })
})
