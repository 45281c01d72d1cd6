import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../../src/engine/llama-server/free-port.ts'
import { openSocket } from '../../support/http/responses-socket.ts'
import { blankPng } from '../../support/pictures.ts'
import { buildProgram } from '../../support/process/built-program.ts'
import { hasNginx, nginxHint, startNginx } from '../../support/process/nginx.ts'
import { hasPostgres, postgresHint, startPostgres, type TestPostgres } from '../../support/process/postgres.ts'
import { createServeHome, type ServeProcess } from '../../support/process/serve-process.ts'

type Home = Awaited<ReturnType<typeof createServeHome>>
type Body = { readonly [key: string]: unknown }
type Asked = { readonly key?: string; readonly body?: Body | FormData; readonly method?: string }
type Wire = {
  readonly id: string
  readonly status: string
  readonly diagnostics: { readonly cache_miss_reason: { readonly type: string } } | null
  readonly selected: string
  readonly selected_preset: string
  readonly key: string
  readonly error: { readonly code: string; readonly message: string }
  readonly output: readonly object[]
  readonly data: readonly { readonly role?: string; readonly id: string }[]
  readonly keys: readonly { readonly name?: string }[]
  readonly usage: { readonly total_tokens: number } & readonly { readonly [name: string]: unknown }[]
  readonly budgets: readonly { readonly used: number; readonly remaining: number }[]
}

const endless = JSON.stringify({ raw: 'late', delayMs: 3_600_000 })
const speaking = JSON.stringify({ chunks: ['first', ' later'], delayMs: 3_600_000 })
const slow = JSON.stringify({ chunks: ['one', ' two', ' three', ' four', ' five'], delayMs: 50 })
const budgetTokens = 500
const keys = [
  { key: 'sk-ann', name: 'ann' },
  { key: 'sk-bob', name: 'bob' },
  { key: 'sk-few', name: 'few', requestsPerMinute: 6 },
  { key: 'sk-day', name: 'day', tokensPerDay: budgetTokens },
  { key: 'sk-one', name: 'one', group: 'team' },
  { key: 'sk-two', name: 'two', group: 'team' },
]
const keyGroups = { team: { tokensPerMonth: budgetTokens } }
const sampling = { presets: { calm: { temperature: { override: 0.1 } } } }

describe.skipIf(!hasPostgres || !hasNginx)(`two servers behind nginx on one PostgreSQL${postgresHint}${nginxHint}`, () => {
  let postgres: TestPostgres
  let nginx: Awaited<ReturnType<typeof startNginx>>
  let homes: readonly [Home, Home]
  let pods: [ServeProcess, ServeProcess]
  let templates: string
  beforeAll(async () => {
    buildProgram()
    templates = await mkdtemp(join(tmpdir(), 'dragoman-templates-'))
    await writeFile(join(templates, 'shout.jinja'), '{% for message in messages %}{{ message.content | upper }}{% endfor %}')
    const call = '<tool_call>{"name":"web_search","arguments":{"query":"tides"}}</tool_call>'
    const script = [{ result: 'not approved', reply: { raw: 'Then not.' } }, { reply: { raw: call } }]
    await writeFile(join(templates, 'script.json'), JSON.stringify(script))
    postgres = await startPostgres()
    const database = await postgres.createDatabase()
    const ports = [await freePort(), await freePort()] as const
    const open = (port: number) =>
      createServeHome(
        database,
        { port, apiKeys: keys, keyGroups, adminKey: 'sk-root', drainDelayMs: 100, heartbeatMs: 500 },
        {
          templates,
          models: [
            { id: 'scripted', engine: 'fake', script: 'from-request', aliases: ['default'] },
            { id: 'searches', engine: 'fake', script: join(templates, 'script.json'), toolFormat: 'hermes' },
          ],
          settings: { sampling, tools: { webSearch: { kind: 'searxng', url: 'http://127.0.0.1:9' } } },
        },
      )
    homes = [await open(ports[0]), await open(ports[1])]
    pods = await Promise.all([homes[0].start(), homes[1].start()])
    const servers = ports.map((port) => `server 127.0.0.1:${port} max_fails=0;`).join(' ')
    nginx = await startNginx(
      `location / {
        proxy_pass http://dragoman; proxy_buffering off; client_max_body_size 64m;
        proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade;
        proxy_next_upstream error timeout http_503 non_idempotent;
      }`,
      { around: `map $http_upgrade $connection_upgrade { default upgrade; '' ''; } upstream dragoman { ${servers} }` },
    )
  })
  afterAll(async () => {
    await nginx?.close()
    await Promise.all(homes?.map((home) => home.remove()) ?? [])
    await postgres?.stop()
    await rm(templates, { recursive: true })
  })

  const root = { key: 'sk-root' }
  const send = ({ url }: { readonly url: string }, path: string, { key = 'sk-ann', body, method }: Asked = {}, more = {}) =>
    fetch(url + path, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        authorization: `Bearer ${key}`,
        ...more,
        ...(body !== undefined && !(body instanceof FormData) && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: body instanceof FormData ? body : JSON.stringify(body) }),
    })
  const ask = async (pod: { readonly url: string }, path: string, asked: Asked = {}) => {
    const reply = await send(pod, path, asked)
    return { status: reply.status, headers: reply.headers, body: (await reply.json()) as Wire }
  }
  const respond = (pod: { readonly url: string }, body: Body, key?: string) =>
    ask(pod, '/v1/responses', { body: { model: 'default', ...body }, ...(key !== undefined && { key }) })
  const chat = (pod: { readonly url: string }, content: string, more: Body = {}, key?: string) =>
    ask(pod, '/v1/chat/completions', {
      body: { model: 'default', messages: [{ role: 'user', content }], ...more },
      ...(key !== undefined && { key }),
    })

  describe('a response', () => {
    test('of one is read and continued on the other, by its caller only', async () => {
      const [here, there] = pods
      const { body } = await respond(here, { input: 'one' })
      expect((await ask(there, `/v1/responses/${body.id}`)).body).toEqual(body)
      expect(await respond(there, { input: 'two', previous_response_id: body.id })).toMatchObject({ status: 200 })
      expect((await ask(there, `/v1/responses/${body.id}`, { key: 'sk-bob' })).status).toBe(404)
    })

    test('in the background of one is polled, streamed from its beginning and cancelled on the other', async () => {
      const [here, there] = pods
      const { body } = await respond(here, { input: endless, background: true, stream: false })
      expect(['queued', 'in_progress']).toContain((await ask(there, `/v1/responses/${body.id}`)).body.status)
      const stream = send(there, `/v1/responses/${body.id}?stream=true`).then((reply) => reply.text())
      expect((await ask(there, `/v1/responses/${body.id}/cancel`, { method: 'POST' })).status).toBe(200)
      await expect.poll(async () => (await ask(here, `/v1/responses/${body.id}`)).body.status).toBe('cancelled')
      expect(await stream).toMatch(/^event: response\.created\n.*"sequence_number":0.*cancelled/s)
    })

    test('on a WebSocket through nginx continues one of the other, and is there on both', async () => {
      const { body } = await respond(pods[0], { input: 'one' })
      const { turn } = await openSocket(Number(new URL(nginx.url).port), { authorization: 'Bearer sk-ann' })
      const { type, response } = await turn({ input: 'two', previous_response_id: body.id })
      expect(type).toBe('response.completed')
      for (const pod of pods) expect((await ask(pod, `/v1/responses/${response?.id}`)).status).toBe(200)
    })

    test('in a conversation excludes another on both, and leaves no half of one', async () => {
      const { body: conversation } = await ask(pods[0], '/v1/conversations', { body: {} })
      const turns = Array.from({ length: 10 }, (_, at) =>
        respond(pods[at % 2] as ServeProcess, { input: slow, conversation: conversation.id }),
      )
      const replies = await Promise.all(turns)
      const done = replies.filter(({ status }) => status === 200).length
      expect(done).toBeGreaterThan(0)
      for (const { status, body } of replies)
        if (status !== 200) expect([status, body.error.code]).toEqual([400, 'conversation_locked'])
      const { data } = (await ask(pods[1], `/v1/conversations/${conversation.id}/items?order=asc&limit=100`)).body
      expect(data.map(({ role }) => role)).toEqual(Array.from({ length: done }, () => ['user', 'assistant']).flat())
      // The lock is free again, everywhere.
      for (const pod of pods) expect((await respond(pod, { input: 'on', conversation: conversation.id })).status).toBe(200)
    })
  })

  test('a stream of one ends when the other is asked to cancel it, which counts it', async () => {
    const reply = await send(pods[0], '/v1/chat/completions', {
      body: { model: 'default', stream: true, messages: [{ role: 'user', content: speaking }], cancel_id: 'c' },
    })
    expect((await ask(pods[1], '/api/inference/cancel', { body: { cancel_id: 'c' } })).body).toEqual({ cancelled: 1 })
    expect(await reply.text()).toMatch(/"finish_reason":"length".*\[DONE\]/s)
  })

  test('a stream that a client names is found, read and ended on the other', async () => {
    const chunks = Array.from({ length: 20 }, (_, at) => `${at}: ${'long '.repeat(1000)}`)
    const reply = await send(
      pods[0],
      '/v1/chat/completions',
      {
        body: { model: 'default', stream: true, messages: [{ role: 'user', content: JSON.stringify({ chunks }) }] },
      },
      { 'x-conversation-id': 'talk' },
    )
    const whole = await reply.text()
    const lookup = async () => (await ask(pods[1], '/v1/streams/lookup', { body: { conversation_ids: ['talk'] } })).body
    expect(await lookup()).toMatchObject([{ conversation_id: 'talk', is_done: true, total_bytes: whole.length }])
    // It is longer than what PostgreSQL takes at once.
    expect(await (await send(pods[1], '/v1/stream?conv_id=talk&from=0')).text()).toBe(whole)
    await send(pods[1], '/v1/stream?conv_id=talk', { method: 'DELETE' })
    expect(await lookup()).toEqual([])
  })

  test('a call of a tool that waits on one is decided on the other, once', async () => {
    const messages = [{ role: 'user', content: 'When?' }]
    const body = { model: 'searches', messages, enable_tools: true, permission_mode: 'ask', stream: true }
    const reply = await send(pods[0], '/api/inference/chat/completions', { ...root, body })
    const decision = { tool_call_id: '', approved: false }
    const decide = () => ask(pods[1], '/api/inference/tool-confirm', { ...root, body: decision })
    let text = ''
    for await (const piece of (reply.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
      text += piece
      const [, id] = /"type":"tool_confirm".*?"tool_call_id":"([^"]+)"/.exec(text) ?? []
      if (id === undefined || decision.tool_call_id !== '') continue
      decision.tool_call_id = id
      expect(await decide()).toMatchObject({ status: 200, body: decision })
    }
    expect(text).toContain('The call was not approved')
    expect((await decide()).status).toBe(404)
  })

  test('a reply of one is compared with on the other, by its caller only', async () => {
    const [here, there] = pods
    const turn = async (pod: ServeProcess, system: string, texts: readonly string[], previous: unknown, key = 'sk-ann') => {
      const messages = texts.map((content, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content }))
      const body = { model: 'default', max_tokens: 20, system, messages, diagnostics: { previous_message_id: previous } }
      return (await ask(pod, '/v1/messages', { body, key })).body
    }
    const { id } = await turn(here, 'Be brief.', ['one'], null)
    const next = ['one', 'one', 'two']
    expect(await turn(there, 'Be brief.', next, id)).toMatchObject({ diagnostics: null })
    const reason = async (...given: Parameters<typeof turn>) => (await turn(...given)).diagnostics?.cache_miss_reason.type
    expect(await reason(there, 'Be long.', next, id)).toBe('system_changed')
    expect(await reason(there, 'Be brief.', next, id, 'sk-bob')).toBe('previous_message_not_found')
  })

  test('what one seals for its caller, the other opens', async () => {
    const { body } = await ask(pods[0], '/v1/responses/compact', { body: { model: 'default', input: 'We talked.' } })
    const input = [body.output.at(-1), { role: 'user', content: 'go on' }]
    expect((await respond(pods[1], { input })).status).toBe(200)
  })

  test('of 20 requests that race over both, as many pass as the key may send', async () => {
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, at) => chat(pods[at % 2] as ServeProcess, 'hi', {}, 'sk-few')),
    )
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(6)
    const refused = replies.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(14)
    for (const { headers } of refused) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  })

  test.each([['sk-day'], ['sk-one', 'sk-two']])(
    'a budget of %s holds under 200 requests at once over both',
    async (...senders) => {
      const requests = Array.from({ length: 200 }, (_, at) => {
        const [pod, key] = [pods[at % 2] as ServeProcess, senders[at % senders.length] as string]
        return chat(pod, 'one two three', { max_tokens: 20 }, key)
      })
      const replies = await Promise.all(requests)
      const passed = replies.filter(({ status }) => status === 200)
      const used = passed.reduce((sum, { body }) => sum + body.usage.total_tokens, 0)
      expect(used).toBeLessThanOrEqual(budgetTokens)
      expect(used).toBeGreaterThan(budgetTokens / 4)
      for (const { status, headers, body } of replies.filter((reply) => reply.status !== 200)) {
        expect([status, body.error.code, headers.get('x-should-retry')]).toEqual([429, 'insufficient_quota', 'false'])
        expect(body.error.message).toMatch(/ of which \d+ remain.* begins again at \d{4}-\d{2}-\d{2}T00:00:00Z$/)
        expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
      }
      const usageOf = async (pod: ServeProcess) => (await ask(pod, '/api/usage', { key: senders[0] as string })).body
      for (const pod of pods) {
        await expect.poll(async () => (await usageOf(pod)).budgets).toMatchObject([{ used, remaining: budgetTokens - used }])
      }
      // Each process writes what it has counted every five seconds, and before it is asked.
      const counted = async () => {
        const { usage } = (await ask(pods[1], '/api/usage', { key: 'sk-root' })).body
        const own = usage.filter(({ key }) => senders.includes(`sk-${key}`))
        return own.reduce((sum, { input_tokens: input, output_tokens: output }) => sum + Number(input) + Number(output), 0)
      }
      await ask(pods[0], '/api/usage', { key: 'sk-root' })
      expect(await counted()).toBe(used)
      expect((await usageOf(pods[1])).usage.every(({ key }) => `sk-${key}` === senders[0])).toBe(true)
    },
  )

  test('a file of one is used on the other, and gone on both when it is deleted', async () => {
    const form = new FormData()
    form.set('purpose', 'vision')
    form.set('file', new Blob([new Uint8Array(blankPng(3, 2))], { type: 'image/png' }), 'a.png')
    const { body: file } = await ask(pods[0], '/v1/files', { body: form })
    expect((await ask(pods[1], `/v1/files/${file.id}`)).body).toEqual(file)
    const bytes = await (await send(pods[1], `/v1/files/${file.id}/content`)).arrayBuffer()
    expect(Buffer.from(bytes).equals(blankPng(3, 2))).toBe(true)
    expect((await ask(pods[1], '/v1/files')).body.data.map(({ id }) => id)).toEqual([file.id])
    const content = [{ type: 'input_image', file_id: file.id }]
    // The scripted model reads no pictures: it refuses this one as what it is, and a file that is not there as that.
    const { body: refused } = await respond(pods[1], { input: [{ role: 'user', content }] })
    expect(refused.error?.message ?? '').not.toContain('is not one of your files')
    await ask(pods[1], `/v1/files/${file.id}`, { method: 'DELETE' })
    expect((await ask(pods[0], `/v1/files/${file.id}`)).status).toBe(404)
  })

  test('a key of one works on the other at once, is listed there, and works nowhere when it is deleted', async () => {
    for (let at = 0; at < 4; at += 1) {
      const [here, there] = [pods[at % 2], pods[(at + 1) % 2]] as [ServeProcess, ServeProcess]
      const { body: made } = await ask(here, '/api/keys', { ...root, body: { name: `made-${at}` } })
      expect((await ask(there, '/v1/models', { key: made.key })).status).toBe(200)
      expect((await ask(there, '/api/keys', root)).body.keys.map(({ name }) => name)).toContain(`made-${at}`)
      expect((await ask(there, '/api/keys', { ...root, body: { name: `made-${at}` } })).status).toBe(409)
      expect((await ask(there, `/api/keys/${made.id}`, { ...root, method: 'DELETE' })).status).toBe(200)
      expect((await ask(there, '/v1/models', { key: made.key })).status).toBe(401)
      await expect.poll(async () => (await ask(here, '/v1/models', { key: made.key })).status).toBe(401)
    }
  })

  const inUse = async (pod: ServeProcess) => [
    (await ask(pod, '/v1/sampling/overrides')).body.selected_preset,
    (await ask(pod, '/v1/templates')).body.selected,
  ]

  test('a preset and a template that one is switched to are in use on the other', async () => {
    await ask(pods[0], '/v1/sampling/override/switch', { ...root, body: { preset: 'calm' } })
    await ask(pods[1], '/v1/template/switch', { ...root, body: { prompt_template_name: 'shout' } })
    for (const pod of pods) await expect.poll(() => inUse(pod)).toEqual(['calm', 'shout'])
    await ask(pods[0], '/v1/sampling/override/unload', { ...root, method: 'POST' })
    await ask(pods[0], '/v1/template/switch', { ...root, body: { prompt_template_name: 'model' } })
    await expect.poll(async () => (await inUse(pods[1]))[0]).not.toBe('calm')
  })

  test('a rolling restart under load fails none of 1,000 requests, and forgets no switch', { timeout: 120_000 }, async () => {
    await ask(pods[0], '/v1/sampling/override/switch', { ...root, body: { preset: 'calm' } })
    await ask(pods[1], '/v1/template/switch', { ...root, body: { prompt_template_name: 'shout' } })
    const statuses: number[] = []
    let isDone = false
    const load = Array.from({ length: 8 }, async () => {
      while (!isDone || statuses.length < 1000) statuses.push((await chat(nginx, 'hi').catch(() => ({ status: 0 }))).status)
    })
    for (const at of [0, 1] as const) {
      expect(await pods[at].stop()).toBe(0)
      pods[at] = await homes[at].start()
    }
    isDone = true
    await Promise.all(load)
    expect(statuses.filter((status) => status !== 200)).toEqual([])
    expect(statuses.length).toBeGreaterThanOrEqual(1000)
    for (const pod of pods) await expect.poll(() => inUse(pod)).toEqual(['calm', 'shout'])
  })

  test('a server with another database takes the keys of its file over, once', async () => {
    const home = await createServeHome(await postgres.createDatabase(), { adminKey: 'sk-root' })
    try {
      const hash = 'a'.repeat(64)
      const file = join(home.home, 'api-keys.json')
      await writeFile(file, JSON.stringify({ keys: [{ hash, scopes: ['inference'], name: 'old', madeBy: 'admin' }] }))
      const names = async (pod: ServeProcess) =>
        (await ask(pod, '/api/keys', { key: 'sk-root' })).body.keys.map(({ name }) => name)
      const first = await home.start()
      expect(await names(first)).toEqual(['admin', 'old'])
      expect(await readFile(`${file}.taken-over`, 'utf8')).toContain(hash)
      await ask(first, `/api/keys/${hash.slice(0, 8)}`, { key: 'sk-root', method: 'DELETE' })
      await first.stop()
      expect(await names(await home.start())).toEqual(['admin'])
    } finally {
      await home.remove()
    }
  })
})
