import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'
import { openSocket } from '../../support/http/responses-socket.ts'
import {
  chatChunk,
  doneLine,
  type ScriptedUpstream,
  startUpstream,
  streamOf,
  usageChunk,
} from '../../support/upstream/upstream.ts'

const says = (text: string) =>
  streamOf(chatChunk({ delta: { content: text }, finish_reason: 'stop' }), usageChunk(3, 1), doneLine)
const served = 'x-dragoman-served-model'

let folder: string
let servers: Record<'old' | 'new' | 'shadow', ScriptedUpstream>
let app: RunningApp
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-versions-'))
  servers = {
    old: await startUpstream(says('old')),
    new: await startUpstream(says('new')),
    shadow: await startUpstream(says('x')),
  }
  app = await startApp({
    builtinModel: false,
    storage: join(folder, 'store.db'),
    server: {
      apiKeys: [
        'all',
        { key: 'user', name: 'user', models: ['qwen'] },
        { key: 'tester', name: 'tester', models: ['qwen', 'qwen@new'] },
      ],
      adminKey: 'admin',
    },
    models: [
      {
        engine: 'remote',
        id: 'qwen',
        endpoints: [{ url: servers.old.url }],
        server: 'openai',
        versions: [
          { name: 'new', percent: 50, endpoints: [{ url: servers.new.url }], upstreamModel: 'qwen-next' },
          { name: 'shadow', percent: 0, endpoints: [{ url: servers.shadow.url }] },
        ],
        mirror: { to: 'shadow', percent: 100 },
      },
    ],
  })
})
afterAll(async () => {
  await app.close()
  for (const server of Object.values(servers)) await server.close()
  await rm(folder, { recursive: true })
})

type Options = { readonly key?: string; readonly version?: string; readonly stream?: boolean; readonly more?: readonly object[] }

async function ask(question: string, { key = 'all', version, stream = false, more = [] }: Options = {}) {
  const reply = await fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...(version !== undefined && { 'x-dragoman-version': version }),
    },
    body: JSON.stringify({ model: 'qwen', stream, messages: [{ role: 'user', content: question }, ...more] }),
  })
  const text = await reply.text()
  return { status: reply.status, served: reply.headers.get(served), text, said: /"content":"(\w+)"/.exec(text)?.[1] }
}

const pinned = (path: string, body: object, version: string) =>
  fetch(`${app.url}${path}`, {
    method: 'POST',
    headers: { authorization: 'Bearer all', 'content-type': 'application/json', 'x-dragoman-version': version },
    body: JSON.stringify({ model: 'qwen', ...body }),
  })

describe('a model with versions', () => {
  test('has one name, and its versions are shown beside it', async () => {
    const client = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'all', maxRetries: 0 })
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['qwen'])
    const tester = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'tester', maxRetries: 0 })
    expect((await tester.models.list()).data.map(({ id }) => id)).toEqual(['qwen', 'qwen@new'])
    expect(app.logLines().map(({ msg }) => msg)).not.toContain('a key may use models that are not there')
    expect(await client.models.retrieve('qwen')).toMatchObject({
      versions: [
        { name: 'new', percent: 50, model: 'qwen@new' },
        { name: 'shadow', percent: 0, model: 'qwen@shadow' },
      ],
    })
    const servers = ((await client.models.retrieve('qwen@new')) as unknown as { servers: object[] }).servers
    expect(servers).toMatchObject([{ state: 'healthy', model: 'qwen-next' }])
  })

  test('each conversation keeps its version, whole and streamed, and the reply says which', async () => {
    const seen = new Set<string>()
    for (let at = 0; at < 20; at++) {
      const first = await ask(`question ${at}`, { stream: at % 2 === 0 })
      const later = await ask(`question ${at}`, {
        more: [
          { role: 'assistant', content: 'hm' },
          { role: 'user', content: 'and?' },
        ],
      })
      expect([first.status, later.status, later.said]).toEqual([200, 200, first.said])
      expect([first.served, later.served]).toEqual(Array(2).fill(first.said === 'new' ? 'qwen@new' : null))
      expect(first.text).toContain(`"model":"${first.said === 'new' ? 'qwen@new' : 'qwen'}"`)
      seen.add(first.said ?? '')
    }
    expect(seen).toEqual(new Set(['old', 'new']))
    expect(new Set(servers.new.seen.map(({ body }) => body.model))).toEqual(new Set(['qwen-next']))
  })

  test('a key may pin a version that it may use', async () => {
    for (let at = 0; at < 4; at++) {
      expect((await ask(`pinned ${at}`, { version: 'new', key: 'tester' })).said).toBe('new')
      expect((await ask(`pinned ${at}`, { version: 'main', key: 'user' })).said).toBe('old')
    }
    expect((await ask('x', { version: 'new', key: 'user' })).status).toBe(404)
    const unknown = await ask('x', { version: 'newest' })
    expect([unknown.status, unknown.text]).toEqual([400, expect.stringContaining('it has: main, new, shadow')])
  })

  test.each([
    ['/v1/messages', { messages: [{ role: 'user', content: 'hi' }], max_tokens: 20 }],
    ['/v1/responses', { input: 'hi', store: false }],
    ['/api/chat', { messages: [{ role: 'user', content: 'hi' }] }],
  ])('may be pinned at %s, too', async (path, body) => {
    for (const stream of [true, false]) {
      const reply = await pinned(path, { stream, ...body }, 'new')
      expect([reply.status, reply.headers.get(served)]).toEqual([200, 'qwen@new'])
      expect(await reply.text()).toMatch(/"model":"qwen@new".*new/s)
    }
  })

  test('may be pinned for responses in the background and on a socket', async () => {
    const client = new OpenAI({
      baseURL: `${app.url}/v1`,
      apiKey: 'all',
      maxRetries: 0,
      defaultHeaders: { 'x-dragoman-version': 'new' },
    })
    const { id } = await client.responses.create({ model: 'qwen', input: 'hi', background: true })
    await until(async () => (await client.responses.retrieve(id)).status === 'completed')
    expect(await client.responses.retrieve(id)).toMatchObject({ model: 'qwen@new', output_text: 'new' })
    const headers = { authorization: 'Bearer all', 'x-dragoman-version': 'new' }
    const socket = await openSocket(Number(new URL(app.url).port), headers)
    expect(await socket.turn({ model: 'qwen', input: 'hi' })).toMatchObject({ response: { model: 'qwen@new' } })
  })

  test('is measured by version', async () => {
    const metrics = await (await fetch(`${app.url}/metrics`, { headers: { authorization: 'Bearer admin' } })).text()
    for (const model of ['qwen', 'qwen@new']) {
      expect(metrics).toMatch(new RegExp(`dragoman_generation_duration_seconds_count\\{model="${model}",outcome="ok"\\} [1-9]`))
    }
  })

  test('serves itself where a version cannot, but not for one that was pinned', async () => {
    servers.new.answer = (_, response) => void response.writeHead(500).end('{"error":{"message":"broken"}}')
    const replies = await Promise.all(Array.from({ length: 8 }, (_, at) => ask(`while it is broken ${at}`)))
    expect(replies.map(({ status, said }) => `${status} ${said}`)).toEqual(Array(8).fill('200 old'))
    expect((await ask('x', { version: 'new' })).status).toBeGreaterThanOrEqual(500)
    servers.new.answer = says('new')
  })
})

describe('a mirror', () => {
  // A copy ends with the original, which therefore waits.
  let go: () => void
  beforeEach(() => {
    const gate = new Promise<void>((resolve) => {
      go = resolve
    })
    servers.old.answer = async (request, response) => {
      await gate
      await says('old')(request, response)
    }
  })
  afterEach(() => {
    servers.old.answer = says('old')
  })

  test('gets copies of requests, which nobody sees and no key pays', async () => {
    const before = servers.shadow.seen.length
    const reply = ask('mirrored', { version: 'main', key: 'user' })
    await until(() => servers.shadow.seen.length > before)
    go()
    expect((await reply).said).toBe('old')
    expect(servers.shadow.seen.at(-1)?.body.messages).toEqual([{ role: 'user', content: 'mirrored' }])
    const metrics = await (await fetch(`${app.url}/metrics`, { headers: { authorization: 'Bearer admin' } })).text()
    expect(metrics).toMatch(/dragoman_key_requests_total\{key="mirror",outcome="\w+"\} \d/)
  })

  test.each([
    ['/v1/messages', { messages: [{ role: 'user', content: 'copied' }], max_tokens: 20 }],
    ['/v1/responses', { input: 'copied', background: true }],
    ['/api/chat', { messages: [{ role: 'user', content: 'copied' }] }],
  ])('gets those of %s, too', async (path, body) => {
    const before = servers.shadow.seen.length
    const reply = pinned(path, body, 'main')
    await until(() => servers.shadow.seen.length > before)
    go()
    expect((await reply).status).toBe(200)
    expect(servers.shadow.seen.at(-1)?.body.messages).toEqual([{ role: 'user', content: 'copied' }])
  })
})
