import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openTestServer } from '../../../../test/support/http/test-server.ts'
import { hashApiKey } from '../../../app/keys/made-keys.ts'
import type { Scope } from '../../../contract/principal.ts'
import { PrefixMemory } from '../../../core/prefix/prefix-memory.ts'

type Json = Readonly<Record<string, unknown>>
type Got = { readonly event: string; readonly id: string | undefined; readonly data: Json }

const keyOf = (name: string, ...scopes: Scope[]) => ({
  name,
  hash: hashApiKey(name),
  scopes: new Set<Scope>(['public', ...scopes]),
})
const keys = [keyOf('alice', 'inference'), keyOf('bob', 'inference'), keyOf('meter', 'metrics'), keyOf('root', 'admin')]

async function start(options: Parameters<typeof openTestServer>[0] = {}) {
  const server = openTestServer({ auth: { apiKeys: keys }, ...options })
  const url = `http://127.0.0.1:${await server.listen()}`
  const as = (key: string, more = {}) => ({
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...more },
  })
  const chat = (key: string, content: string, more = {}) =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      ...as(key),
      body: JSON.stringify({ model: 'default', messages: [{ role: 'user', content }], ...more }),
    })
  const get = async (key: string, path: string) => {
    const reply = await fetch(url + path, as(key))
    return { status: reply.status, body: (await reply.json()) as Json }
  }
  /** Reads events until one satisfies `isLast`, and returns all. */
  const events = async (key: string, query: string, isLast: (got: Got) => boolean, headers = {}): Promise<Got[]> => {
    const leaving = new AbortController()
    onTestFinished(() => leaving.abort())
    const reply = await fetch(`${url}/api/events?${query}`, { ...as(key, headers), signal: leaving.signal })
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
    const all: Got[] = []
    let rest = ''
    const decoder = new TextDecoder()
    for await (const bytes of reply.body ?? []) {
      rest += decoder.decode(bytes, { stream: true })
      const frames = rest.split('\n\n')
      rest = frames.pop() ?? ''
      for (const frame of frames.filter((text) => !text.startsWith(':'))) {
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(frame)?.[1]
        const got = { event: field('event') ?? '', id: field('id'), data: JSON.parse(field('data') ?? '{}') as Json }
        all.push(got)
        if (isLast(got)) return all
      }
    }
    throw new Error('the stream has ended')
  }
  return { ...server, url, chat, get, events }
}
const idsIn = (all: readonly Got[]) =>
  all.flatMap(({ data }) => (data.requests as { id: string }[] | undefined) ?? []).map(({ id }) => id)

describe('GET /api/events', () => {
  test('shows a request while it runs and when it has ended, without its content', async () => {
    const { chat, events } = await start()
    const script = JSON.stringify({ chunks: ['secret words', ' and more'], delayMs: 400 })
    const running = chat('alice', script, { session_id: 's1' })
    const isDone = ({ data }: Got) => JSON.stringify(data).includes('"done"')
    const all = await events('alice', 'topics=requests', isDone)
    const { id } = (await (await running).json()) as { id: string }
    const states = all.flatMap(({ data }) => (data.requests as { id: string; state: string }[] | undefined) ?? [])
    expect(new Set(states.map((state) => state.id))).toEqual(new Set([id]))
    expect(states.at(-1)).toMatchObject({
      key: 'alice',
      route: '/v1/chat/completions',
      model: 'org/fake',
      requested_model: 'default',
      session_id: 's1',
      finish_reasons: ['stop'],
      output_tokens: expect.any(Number),
      timings: { total_ms: expect.any(Number) },
    })
    expect(states.some(({ state }) => state === 'generating')).toBe(true)
    expect(JSON.stringify(all)).not.toContain('secret')
  })

  test('shows each key its own requests, and an administrator all', async () => {
    const { chat, events } = await start()
    await chat('alice', 'hi')
    await chat('bob', 'hi')
    const read = ({ event }: Got) => event === 'read'
    expect(idsIn(await events('alice', 'topics=requests&recent=10', read))).toHaveLength(1)
    expect(idsIn(await events('root', 'topics=requests&recent=10', read))).toHaveLength(2)
  })

  test('shows the tokens that embeddings have read', async () => {
    const { url, get } = await start()
    const headers = { authorization: 'Bearer alice', 'content-type': 'application/json' }
    const body = JSON.stringify({ model: 'default', input: ['a b', 'c'] })
    const { usage } = (await (await fetch(`${url}/v1/embeddings`, { method: 'POST', headers, body })).json()) as Json
    const { body: shown } = await get('alice', '/api/requests')
    const { prompt_tokens: tokens } = usage as { prompt_tokens: number }
    expect(tokens).toBeGreaterThan(1)
    expect(shown.requests).toMatchObject([{ route: '/v1/embeddings', state: 'done', input_tokens: tokens }])
  })

  test('continues after a lost connection where the reader was', async () => {
    const { chat, events } = await start()
    await chat('alice', 'hi')
    const first = await events('alice', 'topics=requests&recent=10', ({ event }) => event === 'read')
    const reply = (await (await chat('alice', 'hi')).json()) as { id: string }
    const second = await events('alice', 'topics=requests&recent=10', ({ event }) => event === 'read', {
      'last-event-id': first.at(-1)?.id,
    })
    expect(idsIn(second)).toEqual([reply.id])
  })

  test('begins anew for a reader of another run of the server', async () => {
    const { chat, events } = await start()
    await chat('alice', 'hi')
    const all = await events('alice', 'topics=requests&recent=10', ({ event }) => event === 'read', { 'last-event-id': '1-7-7' })
    expect(idsIn(all)).toHaveLength(1)
  })

  test.each([
    ['alice', ['requests', 'server'], 403],
    ['meter', [], 403],
    ['root', ['requests', 'server', 'logs'], 200],
  ])('gives the key %s what its scopes allow', async (key, topics, logs) => {
    const { events, url } = await start()
    // `load` has its first sample after ten seconds.
    if (topics.length > 0) {
      const query = key === 'root' ? `topics=${topics.join(',')}` : ''
      const all = await events(key, query, ({ event }) => event === 'read')
      expect(all.map(({ event }) => event).sort()).toEqual([...topics, 'read'].sort())
    }
    const leaving = new AbortController()
    const reply = await fetch(`${url}/api/events?topics=logs`, { headers: { 'x-api-key': key }, signal: leaving.signal })
    expect(reply.status).toBe(logs)
    leaving.abort()
  })

  test('has lines of the log from a level on, and those that come', async () => {
    const { events, deps } = await start()
    deps.log.info('quiet')
    deps.log.warn({ authorization: 'Bearer k', model: 'm' }, 'loud')
    const lines = (
      await events('root', 'topics=logs&level=warn', ({ data }) => {
        const text = JSON.stringify(data)
        if (text.includes('loud')) deps.log.error('later')
        return text.includes('later')
      })
    ).flatMap(({ data }) => (data.lines as Json[] | undefined) ?? [])
    expect(lines).toMatchObject([
      { level: 'warn', message: 'loud', facts: { model: 'm', authorization: '[redacted]' } },
      { level: 'error', message: 'later' },
    ])
  })

  test.each(['topics=nonsense', 'recent=99999', 'recent=x', 'level=loud'])('refuses ?%s with what it takes', async (query) => {
    const { get } = await start()
    const { status, body } = await get('root', `/api/events?${query}`)
    expect([status, JSON.stringify(body)]).toEqual([400, expect.stringMatching(/expected (some|one) of|a whole number/)])
  })

  test('ends when the server shuts down, which waits for no reader', async () => {
    const { events, drain } = await start()
    let draining: Promise<void> | undefined
    const reading = events('root', 'topics=requests', () => {
      draining ??= drain(60_000)
      return false
    }).catch((error: Error) => error.message)
    const ending = await reading
    await draining
    expect(ending).toBe('the stream has ended')
  })
})

test.each(['/api/events', '/models/sse'])('%s ends when the key of its reader is deleted, and not for others', async (path) => {
  const made = new Map([keyOf('stolen', 'admin'), keyOf('kept', 'admin')].map((key) => [key.hash, key]))
  const server = openTestServer({ auth: { apiKeys: [], findKey: (hash) => made.get(hash) } })
  const url = `http://127.0.0.1:${await server.listen()}${path}`
  const leaving = new AbortController()
  onTestFinished(() => leaving.abort())
  const open = (key: string) => fetch(url, { headers: { authorization: `Bearer ${key}` }, signal: leaving.signal })
  const [stolen, kept] = await Promise.all([open('stolen'), open('kept')])
  expect([stolen.status, kept.status]).toEqual([200, 200])
  const keptEnds = kept.text().then(() => 'kept')
  keptEnds.catch(() => undefined)
  made.delete(hashApiKey('stolen'))
  expect(await Promise.race([stolen.text().then(() => 'stolen'), keptEnds])).toBe('stolen')
  expect((await open('stolen')).status).toBe(401)
})

describe('GET /api/requests', () => {
  test('lists what runs and what has ended, the newest first', async () => {
    const { chat, get } = await start()
    await chat('alice', 'hi')
    await chat('alice', 'hi', { model: 'nobody' })
    const { body } = await get('alice', '/api/requests')
    expect(body.requests).toMatchObject([
      {
        state: 'failed',
        requested_model: 'nobody',
        error: { code: 'model-not-found', message: expect.stringContaining('nobody') },
      },
      { state: 'done' },
    ])
    expect((await get('alice', '/api/requests?state=running')).body).toEqual({ requests: [] })
    expect((await get('alice', '/api/requests?limit=1')).body.requests).toHaveLength(1)
    expect((await get('bob', '/api/requests')).body).toEqual({ requests: [] })
  })

  test('leaves out what only asks about a model', async () => {
    const { get, url } = await start()
    const headers = { 'x-api-key': 'alice', 'content-type': 'application/json' }
    await fetch(`${url}/tokenize`, { method: 'POST', headers, body: '{"content":"hi"}' })
    await get('alice', '/props')
    expect((await get('alice', '/api/requests')).body).toEqual({ requests: [] })
  })

  test('has what was sent where requests are captured, for its key and administrators', async () => {
    const captures = { find: async () => ({ path: '/v1/chat/completions', body: { model: 'default' } }) }
    const { chat, get } = await start({ captures })
    const { id } = (await (await chat('alice', 'hi')).json()) as { id: string }
    expect((await get('alice', `/api/requests/${id}`)).body).toMatchObject({ id, sent: { body: { model: 'default' } } })
    expect((await get('root', `/api/requests/${id}`)).status).toBe(200)
    expect(await get('bob', `/api/requests/${id}`)).toMatchObject({
      status: 404,
      body: { error: { message: expect.stringContaining(id) } },
    })
  })

  test('shows how a prompt differs, and its texts to its caller', async () => {
    const { chat, get, events } = await start({ prefixes: new PrefixMemory() })
    const send = async (minute: string, ...more: readonly Json[]) => {
      const messages = [{ role: 'system', content: `It is 12:${minute}.` }, { role: 'user', content: 'hi' }, ...more]
      return ((await (await chat('alice', '', { messages })).json()) as { id: string }).id
    }
    await send('01')
    const id = await send('02', { role: 'assistant', content: 'a' }, { role: 'user', content: 'b' })
    const diverged = { at: 'messages[0].content[0]', part: 'text', change: 'date', missed_tokens: expect.any(Number) }
    const diverged_texts = { lead: 'It is 12:0', before: '1', now: '2', trail: '.' }
    expect((await get('alice', `/api/requests/${id}`)).body).toMatchObject({ diverged, diverged_texts })
    const { body } = await get('root', `/api/requests/${id}`)
    expect(body).toMatchObject({ diverged })
    expect(body).not.toHaveProperty('diverged_texts')
    const all = await events('alice', 'topics=requests&recent=10', ({ event }) => event === 'read')
    expect(JSON.stringify([all, (await get('alice', '/api/requests')).body])).not.toContain('It is')
  })

  test('says who has cancelled a request', async () => {
    const { chat, get, url } = await start()
    const running = chat('alice', JSON.stringify({ chunks: ['a', 'b'], delayMs: 3_600_000 }), { stream: true })
    const [request] = await untilSome(async () => (await get('root', '/api/requests?state=running')).body.requests as Json[])
    const headers = { 'x-api-key': 'root', 'content-type': 'application/json' }
    await fetch(`${url}/api/inference/cancel`, { method: 'POST', headers, body: JSON.stringify({ completion_id: request?.id }) })
    await (await running).text()
    const ended = await untilSome(async () => (await get('alice', '/api/requests?state=ended')).body.requests as Json[])
    expect(ended).toMatchObject([{ state: 'cancelled', cancelled: { reason: 'requested', by: 'root' } }])
  })
})

test('GET /api/server has the models with what they do', async () => {
  const { get } = await start()
  const { body } = await get('alice', '/api/server')
  expect(body).toMatchObject({
    can_load: false,
    keeps_bodies: false,
    models: [{ id: 'org/fake', aliases: ['default'], slots: 4, running: 0, waiting: 0, context_length: 100 }],
  })
  expect(body).not.toHaveProperty('devices')
  expect((await get('meter', '/api/server')).status).toBe(403)
})

test('GET /api/server has the memory of GPUs where there are some', async () => {
  const { get } = await start({ devices: async () => [{ name: 'CUDA0', description: 'A GPU', freeBytes: 3, totalBytes: 4 }] })
  const { body } = await get('alice', '/api/server')
  expect(body.devices).toEqual([{ name: 'CUDA0', description: 'A GPU', total_bytes: 4, free_bytes: 3 }])
})

async function untilSome<T>(read: () => Promise<readonly T[]>): Promise<readonly T[]> {
  for (;;) {
    const found = await read()
    if (found.length > 0) return found
    await pause(10)
  }
}
