import { on, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { chatChunk, doneLine, type ScriptedUpstream, startUpstream } from '../../support/upstream/upstream.ts'

const header = 'x-llamastack-provider-data'
const configuredKey = 'sk-of-the-configuration'
const done = chatChunk({ delta: {}, finish_reason: 'stop' }) + doneLine

type Keys = Record<string, unknown> | string
type Setup = {
  readonly answer?: (response: ServerResponse) => boolean
  readonly server?: 'vllm' | 'openai'
  readonly hasOwnKey?: boolean
}

/** A remote model over a server that says which key it got, and what the server saw when it was probed. */
async function open({ answer, server = 'vllm', hasOwnKey = true }: Setup = {}) {
  const upstream = await startUpstream((_, response) => {
    if (answer?.(response) === true) return
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(chatChunk({ delta: { content: String(response.req.headers.authorization) } }) + done)
  })
  onTestFinished(() => upstream.close())
  const probedWith: (string | undefined)[] = []
  upstream.get = (_, response) => {
    probedWith.push(response.req.headers.authorization)
    return false
  }
  process.env.KEY_OF_THE_TEST = configuredKey
  const endpoint = { url: upstream.url, ...(hasOwnKey && { apiKeyEnv: 'KEY_OF_THE_TEST' }) }
  const app = await startApp({
    models: [
      { id: 'm', engine: 'remote', endpoints: [endpoint], server, upstreamModel: 'up', probe: false, load: 'demand' },
      { id: 'scripted', engine: 'fake', script: 'from-request' },
    ],
  })
  onTestFinished(() => app.close())
  return { app, upstream, probedWith }
}

async function ask(
  app: RunningApp,
  keys?: Keys,
  { path = '/v1/chat/completions', model = 'm', ...more }: Record<string, unknown> = {},
) {
  const response = await fetch(`${app.url}${String(path)}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(keys !== undefined && { [header]: typeof keys === 'string' ? keys : JSON.stringify(keys) }),
    },
    body: JSON.stringify({
      [String(path).startsWith('/v1/inference') ? 'model_id' : 'model']: model,
      messages: [{ role: 'user', content: 'hi' }],
      ...more,
    }),
  })
  return { status: response.status, ignored: response.headers.get('x-dragoman-ignored'), text: await response.text() }
}

/** The keys of generations, or of all requests, as the server sees them: replies hide a caller's key. */
function keysSeenBy(upstream: ScriptedUpstream) {
  const seen: string[] = []
  const others = new Set<string>()
  const { answer } = upstream
  upstream.answer = (request, response) => {
    if (request.path === '/v1/chat/completions') seen.push(response.req.headers.authorization ?? 'none')
    else others.add(response.req.headers.authorization ?? 'none')
    return answer(request, response)
  }
  return { seen, others }
}

test.each<['vllm' | 'openai', Keys | undefined, string]>([
  ['vllm', { vllm_api_token: 'key-of-a-caller' }, 'Bearer key-of-a-caller'],
  ['vllm', { passthrough_api_key: 'key-of-a-caller' }, 'Bearer key-of-a-caller'],
  ['openai', { openai_api_key: 'key-of-a-caller', vllm_api_token: 'another' }, 'Bearer key-of-a-caller'],
  ['vllm', { openai_api_key: 'key-of-a-caller' }, `Bearer ${configuredKey}`],
  ['vllm', undefined, `Bearer ${configuredKey}`],
])('a server of kind %s, for a caller with %j, gets the right key on every route', async (server, keys, expected) => {
  const { app, upstream, probedWith } = await open({ server })
  const { seen, others } = keysSeenBy(upstream)
  const paths = [
    { path: '/v1/chat/completions' },
    { path: '/v1/openai/v1/chat/completions', stream: true },
    { path: '/v1/inference/chat-completion' },
    { path: '/v1/inference/chat-completion', stream: true },
    { path: '/v1/responses', input: 'hi', messages: null },
    { path: '/v1/openai/v1/responses', input: 'hi', messages: null, stream: true },
  ]
  for (const one of paths) expect((await ask(app, keys, one)).status).toBe(200)
  expect(seen).toEqual(paths.map(() => expected))
  // Tokens are counted with the same key.
  expect([...others].filter((key) => key !== expected)).toEqual([])
  expect(new Set(probedWith)).toEqual(new Set([`Bearer ${configuredKey}`]))
})

test('a WebSocket has the key for all of its responses', async () => {
  const { app, upstream } = await open()
  const { seen } = keysSeenBy(upstream)
  const headers = { [header]: '{"vllm_api_token": "key-of-a-caller"}' }
  const socket = new WebSocket(`${app.url.replace('http', 'ws')}/v1/responses`, { headers })
  await once(socket, 'open')
  socket.send(JSON.stringify({ type: 'response.create', model: 'm', input: 'hi' }))
  for await (const [data] of on(socket, 'message')) if (String(data).includes('"response.completed"')) break
  socket.close()
  expect(seen).toEqual(['Bearer key-of-a-caller'])
})

test('callers at the same time have their own keys, and the next one has the configured key', async () => {
  const { app, upstream } = await open()
  const { seen } = keysSeenBy(upstream)
  await Promise.all(['first-callers-key', 'second-callers-key'].map((key) => ask(app, { vllm_api_token: key })))
  await ask(app)
  expect(seen.slice(0, 2).sort()).toEqual(['Bearer first-callers-key', 'Bearer second-callers-key'])
  expect(seen[2]).toBe(`Bearer ${configuredKey}`)
})

test("a caller's key hides nothing in a reply, its own or another's", async () => {
  const { app } = await open({
    answer: (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(chatChunk({ delta: { content: 'a-sentence-of-sixteen-letters' } }) + done)
      return true
    },
  })
  const [own, other] = await Promise.all([ask(app, { vllm_api_token: 'sentence-of-sixteen' }), ask(app)])
  for (const { text } of [own, other]) expect(text).toContain('a-sentence-of-sixteen-letters')
})

test("a key that the server refuses is the caller's affair: 401, and the server stays healthy", async () => {
  const { app } = await open({
    answer: (response) => {
      if (response.req.headers.authorization === `Bearer ${configuredKey}`) return false
      response.writeHead(401).end('{"error":{"message":"no"}}')
      return true
    },
  })
  for (const _ of [1, 2, 3, 4]) {
    const refused = await ask(app, { vllm_api_token: 'not-a-good-key' })
    expect(refused.status).toBe(401)
    expect(refused.text).toContain(`does not accept the key in ${header}`)
  }
  expect((await ask(app)).status).toBe(200)
})

test('a limit of the key is the status 429, for its caller only', async () => {
  const { app } = await open({
    answer: (response) => {
      if (response.req.headers.authorization === `Bearer ${configuredKey}`) return false
      response.writeHead(429, { 'retry-after': '30' }).end('{"error":{"message":"too many"}}')
      return true
    },
  })
  expect((await ask(app, { vllm_api_token: 'a-busy-callers-key' })).status).toBe(429)
  expect((await ask(app)).status).toBe(200)
})

test('a server without a key of ours serves callers who bring theirs', async () => {
  const { app } = await open({
    hasOwnKey: false,
    answer: (response) => {
      if (response.req.headers.authorization !== undefined) return false
      response.writeHead(401).end('{"error":{"message":"no key"}}')
      return true
    },
  })
  for (const _ of [1, 2, 3, 4]) expect((await ask(app)).status).toBe(503)
  expect((await ask(app, { vllm_api_token: 'key-of-a-caller' })).status).toBe(200)
})

test('keys that no server takes are listed', async () => {
  const { app } = await open()
  const keys = { vllm_api_token: 'key-of-a-caller' }
  expect((await ask(app, keys)).ignored).toBeNull()
  expect((await ask(app, { groq_api_key: 'key-of-a-caller' })).ignored).toBe(header)
  expect((await ask(app, { ...keys, passthrough_url: 'x' })).ignored).toBe(`${header}.passthrough_url`)
  expect((await ask(app, keys, { model: 'scripted' })).ignored).toBe(header)
  const response = { model: 'scripted', path: '/v1/responses', input: 'hi', messages: null }
  expect((await ask(app, { ...keys, other: 1 }, response)).ignored).toBe(`${header}.other, ${header}`)
  const embedding = { model: 'scripted', path: '/v1/inference/embeddings', contents: ['a'], messages: null }
  expect((await ask(app, keys, embedding)).ignored).toBe(header)
})

test('embeddings are made with the key too', async () => {
  const seen: string[] = []
  const { app } = await open({
    answer: (response) => {
      seen.push(response.req.headers.authorization ?? 'none')
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ data: [{ index: 0, embedding: [1, 0] }], usage: { prompt_tokens: 1 } }))
      return true
    },
  })
  const fields = { path: '/v1/inference/embeddings', contents: ['a'], messages: null }
  expect((await ask(app, { vllm_api_token: 'key-of-a-caller' }, fields)).status).toBe(200)
  expect((await ask(app, undefined, { path: '/v1/embeddings', input: 'a', messages: null })).status).toBe(200)
  expect(seen).toEqual(['Bearer key-of-a-caller', `Bearer ${configuredKey}`])
})

test.each(['{"vllm_api_token": "half-a-secret', '{"vllm_api_token": 5}', '[]'])('the header %s is refused', async (keys) => {
  const { app } = await open()
  const refused = await ask(app, keys)
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(header)])
  expect(
    refused.text +
      app
        .logLines()
        .map((line) => JSON.stringify(line))
        .join(''),
  ).not.toContain('half-a-secret')
})
