import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../test/support/http/app.ts'
import { blankPng } from '../../test/support/pictures.ts'
import { privateUrls } from '../../test/support/upstream/private-addresses.ts'

/** What callers must not reach, and what the configuration allows. */
const hosts = { target: '127.0.0.1', allowed: '127.0.0.2' } as const
const hits = { target: 0, allowed: 0 }
let app: RunningApp
let target: Server
let allowed: Server

async function listen(name: keyof typeof hosts): Promise<Server> {
  const server = createServer((_, response) => response.end(blankPng()))
  server.on('connection', () => {
    hits[name] += 1
  })
  server.listen(0, hosts[name])
  await once(server, 'listening')
  return server
}

const portOf = (server: Server) => (server.address() as AddressInfo).port

beforeAll(async () => {
  target = await listen('target')
  allowed = await listen('allowed')
  app = await startApp({
    builtinModel: false,
    models: [{ engine: 'fake', id: 'm', script: 'from-request' }],
    media: { allowedAddresses: [hosts.allowed], cacheBytes: 0, timeoutMs: { image: 500, audio: 500, video: 500, file: 500 } },
  })
})

afterAll(async () => {
  await app.close()
  target.close()
  allowed.close()
})

const chat = (part: object) => ({ model: 'm', messages: [{ role: 'user', content: [part] }] })

/** Each field that takes an address, in each protocol. */
const fields: Readonly<Record<string, (url: string) => readonly [path: string, body: unknown]>> = {
  'chat: image_url': (url) => ['/v1/chat/completions', chat({ type: 'image_url', image_url: { url } })],
  'chat: image_url, a text': (url) => ['/v1/chat/completions', chat({ type: 'image_url', image_url: url })],
  'chat: audio_url': (url) => ['/v1/chat/completions', chat({ type: 'audio_url', audio_url: { url } })],
  'chat: video_url': (url) => ['/v1/chat/completions', chat({ type: 'video_url', video_url: { url } })],
  'chat, streamed': (url) => ['/v1/chat/completions', { ...chat({ type: 'image_url', image_url: { url } }), stream: true }],
  'Responses: input_image': (url) => [
    '/v1/responses',
    { model: 'm', store: false, input: [{ role: 'user', content: [{ type: 'input_image', image_url: url }] }] },
  ],
  'Messages: image': (url) => ['/v1/messages', { max_tokens: 5, ...chat({ type: 'image', source: { type: 'url', url } }) }],
  'Messages: a document': (url) => [
    '/v1/messages',
    { max_tokens: 5, ...chat({ type: 'document', source: { type: 'url', url } }) },
  ],
  'Messages: counting': (url) => ['/v1/messages/count_tokens', chat({ type: 'image', source: { type: 'url', url } })],
  'llama-stack: image': (url) => [
    '/v1/inference/chat-completion',
    { model_id: 'm', messages: [{ role: 'user', content: [{ type: 'image', image: { url: { uri: url } } }] }] },
  ],
}

async function send(name: string, url: string): Promise<{ readonly status: number; readonly text: string }> {
  const [path, body] = (fields[name] as (typeof fields)[string])(url)
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(app.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: reply.status, text: await reply.text() }
}

test.each(Object.keys(fields))('%s reads an address that is allowed, and is refused all others', async (name) => {
  const before = hits.allowed
  const sent = await send(name, `http://${hosts.allowed}:${portOf(allowed)}/a.png`)
  expect(hits.allowed, sent.text).toBe(before + 1)
  for (const [index, spelling] of privateUrls.entries()) {
    // One reader reads all fields: it gets each spelling once, and each field some of them.
    if (!name.startsWith('chat: image_url') && index % 12 !== 0) continue
    // Names of the outside: tests do not look them up.
    if (spelling.toLowerCase().includes('.example')) continue
    const { status, text } = await send(name, spelling.replaceAll('PORT', String(portOf(target))))
    expect([status, spelling, text]).toEqual([400, spelling, expect.any(String)])
  }
  expect(hits.target).toBe(0)
})
