import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningApp, startApp } from './support/http/app.ts'
import { fine } from './support/upstream/remote-engine.ts'
import { type ScriptedUpstream, startUpstream } from './support/upstream/upstream.ts'

const plain = '{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}'
const switched = '{{ enable_thinking }}{{ preserve_thinking }}{{ verbosity }}{{ date }}'
let folder: string
let upstream: ScriptedUpstream
let app: RunningApp

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-switches-'))
  const write = async (name: string, text: string) => {
    await writeFile(join(folder, name), text)
    return join(folder, name)
  }
  const fake = { engine: 'fake', script: 'from-request' } as const
  upstream = await startUpstream(fine)
  const endpoints = [{ url: upstream.url }]
  app = await startApp({
    builtinModel: false,
    models: [
      { ...fake, id: 'plain', chatTemplate: await write('plain.jinja', plain) },
      { ...fake, id: 'switched', chatTemplate: await write('switched.jinja', plain + switched) },
      { id: 'groq', engine: 'remote', endpoints, server: 'groq', upstreamModel: 'up' },
      { id: 'vllm', engine: 'remote', endpoints, server: 'vllm', upstreamModel: 'up' },
    ],
  })
})

afterAll(async () => {
  await app.close()
  await upstream.close()
  await rm(folder, { recursive: true })
})

async function ignoredOf(path: string, body: object): Promise<string | null> {
  const said = path === '/v1/responses' ? { input: 'hi' } : { messages: [{ role: 'user', content: 'hi' }] }
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(app.url + path, { method: 'POST', headers, body: JSON.stringify({ ...said, ...body }) })
  expect([response.status, await response.text()]).toMatchObject([200, expect.any(String)])
  return response.headers.get('x-dragoman-ignored')
}

const thoughts = { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] }

test.each([
  ['/v1/chat/completions', { enable_thinking: true }, 'enable_thinking'],
  ['/v1/chat/completions', { enable_thinking: false }, 'enable_thinking'],
  ['/v1/chat/completions', { thinking: { type: 'enabled' } }, 'thinking'],
  ['/v1/chat/completions', { preserve_thinking: true }, 'preserve_thinking'],
  ['/v1/chat/completions', { verbosity: 'low' }, 'verbosity'],
  ['/v1/chat/completions', { template_vars: { date: 'today' } }, 'template_vars.date'],
  ['/v1/chat/completions', { chat_template_kwargs: { date: 'today' } }, 'chat_template_kwargs.date'],
  ['/v1/responses', { enable_thinking: true }, 'enable_thinking'],
  ['/v1/responses', { text: { verbosity: 'low' } }, 'text.verbosity'],
  ['/v1/responses', { reasoning: { context: 'all_turns' } }, 'reasoning.context'],
  ['/v1/messages', { max_tokens: 9, thinking: { type: 'disabled' } }, 'thinking'],
  ['/v1/messages', { max_tokens: 9, thinking: { type: 'adaptive' }, context_management: thoughts }, 'context_management'],
])('%s names what a template has no use for: %j', async (path, body, name) => {
  expect(await ignoredOf(path, { model: 'plain', ...body })).toBe(name)
  expect(await ignoredOf(path, { model: 'switched', ...body })).toBeNull()
  // Nobody knows the template of that server.
  expect(await ignoredOf(path, { model: 'vllm', ...body })).toBeNull()
})

test('thinking that Messages do not mention is not named', async () => {
  expect(await ignoredOf('/v1/messages', { model: 'plain', max_tokens: 9 })).toBeNull()
})

test('a server without such switches has them named', async () => {
  const body = { model: 'groq', max_tokens: 9, thinking: { type: 'enabled', budget_tokens: 1024 }, context_management: thoughts }
  expect(await ignoredOf('/v1/messages', body)).toBe('thinking.budget_tokens, thinking, context_management')
})
