import { expect, test } from 'vitest'
import { openTestServer } from '../../test/support/http/test-server.ts'
import { withoutBasePath } from './base-path.ts'

test.each([
  ['/llm', '/'],
  ['/llm/', '/'],
  ['/llm?x', '/?x'],
  ['/llm/v1/models?limit=1', '/v1/models?limit=1'],
  ['http://host:1/llm/v1/models', 'http://host:1/v1/models'],
  ['/llm/llm', '/llm'],
  ['/llmx/v1', '/llmx/v1'],
  ['/v1/llm', '/v1/llm'],
  ['/', '/'],
])('%s is %s below /llm', (url, below) => {
  expect(withoutBasePath('/llm', url)).toBe(below)
  expect(withoutBasePath('', url)).toBe(url)
})

const chat = { model: 'default', messages: [{ role: 'user', content: 'hi' }] }

test.each([
  ['POST', '/v1/chat/completions', chat],
  ['POST', '/chat/completions', chat],
  ['POST', '/v1/openai/v1/chat/completions', chat],
  ['POST', '/v1/messages', { ...chat, max_tokens: 5 }],
  ['POST', '/api/chat', { ...chat, stream: false }],
  ['POST', '/completion', { prompt: 'hi' }],
  ['GET', '/api/v1/model', undefined],
  ['GET', '/v1/models', undefined],
  ['GET', '/health', undefined],
  ['GET', '/docs', undefined],
  ['GET', '/openapi.json', undefined],
] as const)('%s %s is served below the base path, and where a proxy has removed it', async (method, path, payload) => {
  const { app } = openTestServer({ basePath: '/llm' })
  for (const url of [`/llm${path}`, path]) {
    const reply = await app.inject({ method, url, ...(payload !== undefined && { payload }) })
    expect([reply.statusCode, url]).toEqual([200, url])
  }
})

test('errors have the form of their route below the base path, too', async () => {
  const { app } = openTestServer({ basePath: '/llm' })
  const errorOf = async (url: string) => JSON.parse((await app.inject({ method: 'POST', url, payload: {} })).body)
  for (const path of ['/api/inference/cancel', '/v1/messages', '/v1/chat/completions', '/v1/nothing']) {
    const [below, plain] = [await errorOf(`/llm${path}`), await errorOf(path)]
    expect({ ...below, request_id: '' }).toEqual({ ...plain, request_id: '' })
  }
})

test('the page at the address links to what is below it', async () => {
  const { app } = openTestServer({ basePath: '/llm' })
  const page = await app.inject({ url: '/llm', headers: { accept: 'text/html' } })
  expect(page.body).toContain('<a href="/llm/v1/models">/llm/v1/models</a>')
  expect((await app.inject('/llm/')).body).toMatch(/^\/llm\/v1 +the base URL/m)
})
