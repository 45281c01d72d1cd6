import Anthropic from '@anthropic-ai/sdk'
import OpenAI, { toFile } from 'openai'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { hasPods, type RunningApp, startApp, until } from '../../support/http/app.ts'

type Line = { readonly custom_id: string; readonly method: string; readonly url: string; readonly body: object }
type Result = {
  readonly custom_id: string
  readonly response: { readonly status_code: number; readonly body: Record<string, unknown> } | null
  readonly error: { readonly code: string } | null
}

const url = '/v1/chat/completions'
const lineOf = (id: string, content: string, more: object = {}): Line => ({
  custom_id: id,
  method: 'POST',
  url,
  body: { model: 'scripted', messages: [{ role: 'user', content }], ...more },
})
const toJsonLines = (lines: readonly unknown[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('')
const readLines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Result)

describe('batches', () => {
  let app: RunningApp
  let openai: OpenAI
  let anthropic: Anthropic
  beforeAll(async () => {
    app = await startApp({
      storage: {},
      server: { bodyLimitBytes: 20_000 },
      models: [{ id: 'scripted', engine: 'fake', script: 'from-request', slots: 4 } as never],
    })
    openai = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'none' })
    anthropic = new Anthropic({ baseURL: app.url, apiKey: 'none' })
  })
  afterAll(() => app.close())

  async function create(lines: readonly unknown[] | string, endpoint: '/v1/embeddings' | typeof url = url) {
    const text = typeof lines === 'string' ? lines : toJsonLines(lines)
    const file = await openai.files.create({ file: await toFile(Buffer.from(text), 'in.jsonl'), purpose: 'batch' })
    return openai.batches.create({ input_file_id: file.id, endpoint, completion_window: '24h', metadata: { of: 'test' } })
  }
  const getJson = async <T>(path: string) => (await (await fetch(app.url + path)).json()) as T
  async function used() {
    type Use = { readonly requests: number; readonly batch?: { readonly requests: number } }
    const { usage } = await getJson<{ usage: readonly Use[] }>('/api/usage')
    return { requests: usage[0]?.requests ?? 0, batch: usage[0]?.batch?.requests ?? 0 }
  }
  async function ended(id: string) {
    const isOpen = (status: string) => ['validating', 'in_progress', 'finalizing', 'cancelling'].includes(status)
    await until(async () => !isOpen((await openai.batches.retrieve(id)).status))
    return openai.batches.retrieve(id)
  }
  const contentOf = async (id: string | undefined) => readLines(await (await openai.files.content(id ?? '')).text())

  test('each line of a file gets the reply of a request of its own', async () => {
    const texts = Array.from({ length: 40 }, (_, index) => `Text ${index}.`)
    const batch = await create(texts.map((text, index) => lineOf(`line-${index}`, text)))
    expect(batch).toMatchObject({ object: 'batch', status: 'validating', metadata: { of: 'test' }, completion_window: '24h' })
    const done = await ended(batch.id)
    expect(done).toMatchObject({
      status: 'completed',
      request_counts: { total: 40, completed: 40, failed: 0 },
      error_file_id: null,
    })
    const results = await contentOf(done.output_file_id)
    expect(results.map(({ custom_id }) => custom_id)).toEqual(texts.map((_, index) => `line-${index}`))
    expect(results.every(({ response, error }) => response?.status_code === 200 && error === null)).toBe(true)
    expect(results[7]?.response?.body).toMatchObject({
      object: 'chat.completion',
      model: 'scripted',
      usage: { prompt_tokens: 2 },
    })
    expect(done.usage).toMatchObject({ input_tokens: 80 })
    expect(await app.metric('dragoman_batch_requests_total{outcome="succeeded"}')).toBe(40)
    expect(await app.metric('dragoman_batch_tokens_total{type="input"}')).toBe(80)
    const metrics = await (await fetch(`${app.url}/metrics`)).text()
    for (const hangUp of ['reason="client-gone"', 'status="499"']) expect(metrics).not.toContain(hangUp)
  })

  // Another server is known a few seconds later.
  test.skipIf(hasPods)('what batches use is counted apart, and their requests name them', async () => {
    const before = await used()
    await openai.chat.completions.create({ model: 'scripted', messages: [{ role: 'user', content: 'Hello.' }] })
    const chat = await create([lineOf('chat', 'Hello.'), lineOf('chat-2', 'Hello.')])
    const embedding = { custom_id: 'read', method: 'POST', url: '/v1/embeddings', body: { model: 'scripted', input: 'Hello.' } }
    const read = await create([embedding], '/v1/embeddings')
    for (const { id } of [chat, read]) expect((await ended(id)).request_counts?.failed).toBe(0)
    const after = await used()
    expect([after.requests - before.requests, after.batch - before.batch]).toEqual([4, 3])
    const { requests } = await getJson<{ requests: { batch_id?: string }[] }>('/api/requests?limit=4')
    expect(requests.map(({ batch_id: id }) => id ?? '').sort()).toEqual(['', chat.id, chat.id, read.id].sort())
  })

  test('a line that its protocol refuses has its error in the error file, and the others go on', async () => {
    const batch = await create([lineOf('good', 'Hello.'), lineOf('bad', 'Hello.', { temperature: 'hot' })])
    const done = await ended(batch.id)
    expect(done).toMatchObject({ status: 'completed', request_counts: { total: 2, completed: 1, failed: 1 } })
    expect(await contentOf(done.error_file_id)).toMatchObject([
      { custom_id: 'bad', response: { status_code: 400, body: { error: { param: 'temperature' } } }, error: null },
    ])
  })

  test('a file with faults runs nothing, and lists the faults of all lines', async () => {
    const faulty = [
      lineOf('twice', 'Hello.'),
      lineOf('twice', 'Hello.'),
      { ...lineOf('method', 'Hello.'), method: 'GET' },
      { ...lineOf('url', 'Hello.'), url: '/v1/embeddings' },
      lineOf('stream', 'Hello.', { stream: true }),
      lineOf('background', 'Hello.', { background: true }),
      lineOf('nul\0', 'Hello.'),
      lineOf('model', 'Hello.', { model: 'other' }),
      { ...lineOf('body', 'Hello.'), body: undefined },
      [],
      lineOf('deep', 'nested'),
    ]
    const nested = toJsonLines(faulty).replace('"nested"', '['.repeat(9000) + ']'.repeat(9000))
    const batch = await create(`${nested}{"custom_id":`)
    const done = await ended(batch.id)
    expect(done.status).toBe('failed')
    expect(done.errors?.data?.map(({ line, code, param }) => [line, code, param])).toEqual([
      [2, 'duplicate_custom_id', 'custom_id'],
      [3, 'invalid_method', 'method'],
      [4, 'invalid_url', 'url'],
      [5, 'invalid_request', 'body.stream'],
      [6, 'invalid_request', 'body.background'],
      [7, 'missing_required_parameter', 'custom_id'],
      [8, 'model_not_found', 'body.model'],
      [9, 'missing_required_parameter', 'body'],
      [10, 'invalid_json_line', null],
      [11, 'invalid_request', 'body'],
      [12, 'invalid_json_line', null],
    ])
    expect((await ended((await create('\n')).id)).errors?.data).toMatchObject([{ code: 'empty_file' }])
  })

  test.each([
    ['/v1/completions', { prompt: 'x' }, 200],
    ['/v1/embeddings', { input: 'x' }, 200],
    ['/v1/responses', { input: 'x' }, 200],
    ['/v1/rerank', { query: 'x', documents: ['x'] }, 'does not score texts'],
    ['/v1/score/evaluation', { messages: ['x'] }, 200],
  ])('lines go to %s as they would alone', async (endpoint, body, expected) => {
    const line = { custom_id: 'one', method: 'POST', url: endpoint, body: { model: 'scripted', ...body } }
    const file = await openai.files.create({
      file: await toFile(Buffer.from(JSON.stringify(line)), 'in.jsonl'),
      purpose: 'batch',
    })
    const { id } = await openai.batches.create({ input_file_id: file.id, endpoint: endpoint as never, completion_window: '24h' })
    const { output_file_id: output, error_file_id: error } = await ended(id)
    const [result] = await contentOf(output ?? error)
    if (expected === 200) expect(result).toMatchObject({ custom_id: 'one', response: { status_code: expected } })
    else expect(JSON.stringify(result)).toContain(expected)
  })

  test('a batch needs a file that was uploaded for it', async () => {
    const file = await openai.files.create({ file: await toFile(Buffer.from('x'), 'x.txt'), purpose: 'user_data' })
    const of = (id: string) => openai.batches.create({ input_file_id: id, endpoint: url, completion_window: '24h' })
    await expect(of(file.id)).rejects.toMatchObject({ status: 400, param: 'input_file_id' })
    await expect(of('file-00000000000000000000000000000000')).rejects.toMatchObject({ status: 404 })
  })

  test('the results of a batch are kept for as long as it asks', async () => {
    const input = toJsonLines([lineOf('a', 'Hello.')])
    const file = await openai.files.create({
      file: await toFile(Buffer.from(input), 'in.jsonl'),
      purpose: 'batch',
      expires_after: { anchor: 'created_at', seconds: 7200 },
    })
    expect(file.expires_at).toBe(file.created_at + 7200)
    const of = (seconds: number) =>
      openai.batches.create({
        input_file_id: file.id,
        endpoint: url,
        completion_window: '24h',
        output_expires_after: { anchor: 'created_at', seconds },
      })
    await expect(of(3599)).rejects.toMatchObject({ status: 400, param: 'output_expires_after.seconds' })
    const done = await ended((await of(3600)).id)
    const output = await openai.files.retrieve(done.output_file_id ?? '')
    expect(output.expires_at).toBe(output.created_at + 3600)
  })

  test('a cancelled batch keeps what is done, and says of the rest that it was not run', async () => {
    const slow = JSON.stringify({ raw: 'late', delayMs: 600_000 })
    const batch = await create([
      lineOf('first', 'Hello.'),
      ...Array.from({ length: 30 }, (_, index) => lineOf(`line-${index}`, slow)),
    ])
    await until(async () => ((await openai.batches.retrieve(batch.id)).request_counts?.completed ?? 0) > 0)
    await openai.batches.cancel(batch.id)
    const done = await ended(batch.id)
    expect(done).toMatchObject({ status: 'cancelled', request_counts: { total: 31, completed: 1, failed: 0 } })
    expect((await contentOf(done.output_file_id)).map(({ custom_id }) => custom_id)).toEqual(['first'])
    const rest = await contentOf(done.error_file_id)
    expect(rest).toHaveLength(30)
    for (const line of rest) expect(line).toMatchObject({ response: null, error: { code: 'batch_cancelled' } })
  })

  test('lists have pages, the newest first', async () => {
    const made = [await create([lineOf('a', 'Hello.')]), await create([lineOf('a', 'Hello.')])]
    const first = await openai.batches.list({ limit: 1 })
    expect(first.data.map(({ id }) => id)).toEqual([made[1]?.id])
    expect((await first.getNextPage()).data.map(({ id }) => id)).toEqual([made[0]?.id])
  })

  test('Messages in a batch get the results of requests of their own', async () => {
    const params = (content: string, more: object = {}) => ({
      model: 'scripted',
      max_tokens: 50,
      messages: [{ role: 'user' as const, content }],
      ...more,
    })
    const batch = await anthropic.messages.batches.create({
      requests: [
        { custom_id: 'good', params: params('Hello.') },
        { custom_id: 'bad', params: params('Hello.', { temperature: 'hot' as never }) },
      ],
    })
    expect(batch).toMatchObject({ type: 'message_batch', processing_status: 'in_progress', request_counts: { processing: 2 } })
    await until(async () => (await anthropic.messages.batches.retrieve(batch.id)).processing_status === 'ended')
    const done = await anthropic.messages.batches.retrieve(batch.id)
    expect(done.request_counts).toEqual({ processing: 0, succeeded: 1, errored: 1, canceled: 0, expired: 0 })
    const results = []
    for await (const result of await anthropic.messages.batches.results(batch.id)) results.push(result)
    expect(results).toMatchObject([
      { custom_id: 'good', result: { type: 'succeeded', message: { type: 'message', role: 'assistant' } } },
      { custom_id: 'bad', result: { type: 'errored', error: { type: 'error', error: { type: 'invalid_request_error' } } } },
    ])
    expect((await anthropic.messages.batches.list()).data.map(({ id }) => id)).toEqual([batch.id])
    await expect(openai.batches.retrieve(batch.id)).rejects.toMatchObject({ status: 404 })
    expect(await anthropic.messages.batches.delete(batch.id)).toEqual({ id: batch.id, type: 'message_batch_deleted' })
    await expect(anthropic.messages.batches.retrieve(batch.id)).rejects.toMatchObject({ status: 404 })
  })

  test('Messages may be larger together than one request, which has its limit', async () => {
    const requests = Array.from({ length: 400 }, (_, index) => ({
      custom_id: `${index}`,
      params: { model: 'scripted', max_tokens: 5, messages: [{ role: 'user' as const, content: `Text ${index}.` }] },
    }))
    const { id } = await anthropic.messages.batches.create({ requests })
    await until(async () => (await anthropic.messages.batches.retrieve(id)).processing_status === 'ended')
    expect((await anthropic.messages.batches.retrieve(id)).request_counts.succeeded).toBe(400)
    const long = { ...requests[0], custom_id: 'long', system: 'x'.repeat(30_000) } as never
    const before = (await anthropic.messages.batches.list()).data.length
    await expect(anthropic.messages.batches.create({ requests: [...requests, long] })).rejects.toMatchObject({ status: 413 })
    expect((await anthropic.messages.batches.list()).data).toHaveLength(before)
  })

  test('Messages with faults are refused together, by their names', async () => {
    const params = { model: 'other', max_tokens: 5, messages: [] }
    const create = anthropic.messages.batches.create({
      requests: [
        { custom_id: 'a', params },
        { custom_id: '', params },
      ],
    })
    await expect(create).rejects.toMatchObject({ status: 400, message: expect.stringContaining('requests[1].custom_id') })
  })

  test('unknown fields beside the requests of a batch are named', async () => {
    const headers = { 'content-type': 'application/json' }
    const post = (path: string, body: object) => fetch(app.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    const requests = [
      { custom_id: 'a', params: { model: 'scripted', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] }, priority: 1 },
    ]
    const messages = await post('/v1/messages/batches', { requests, notify: 'me', also: null })
    expect(messages.headers.get('x-dragoman-ignored')).toBe('notify, requests[].priority')
    const file = await openai.files.create({
      file: await toFile(Buffer.from(toJsonLines([lineOf('a', 'hi')])), 'in.jsonl'),
      purpose: 'batch',
    })
    const batch = await post('/v1/batches', { input_file_id: file.id, endpoint: url, completion_window: '24h', notify: 'me' })
    expect(batch.headers.get('x-dragoman-ignored')).toBe('notify')
  })
})

test('the rest of a batch whose key was deleted is refused in the words of its protocol', async () => {
  const admin = 'sk-admin-0123456789abcdef'
  const app = await startApp({
    storage: {},
    server: { apiKeys: [{ key: admin, scopes: ['admin'] }] },
    models: [{ id: 'scripted', engine: 'fake', script: 'from-request', slots: 1 } as never],
  })
  onTestFinished(() => app.close())
  const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/json' }
  const asked = { method: 'POST', headers, body: JSON.stringify({ name: 'ann', scopes: ['inference'] }) }
  const makeKey = async () => (await (await fetch(`${app.url}/api/keys`, asked)).json()) as { key: string; id: string }
  const { key: apiKey, id: keyId } = await makeKey()
  const [openai, anthropic] = [new OpenAI({ baseURL: `${app.url}/v1`, apiKey }), new Anthropic({ baseURL: app.url, apiKey })]
  const slow = JSON.stringify({ raw: 'Hello.', delayMs: 300 })
  const params = { model: 'scripted', max_tokens: 50, messages: [{ role: 'user' as const, content: slow }] }
  const ids = Array.from({ length: 20 }, (_, index) => `${index}`)
  const messages = await anthropic.messages.batches.create({ requests: ids.map((id) => ({ custom_id: id, params })) })
  const file = await toFile(Buffer.from(toJsonLines(ids.map((id) => lineOf(id, slow)))), 'in.jsonl')
  const { id: input_file_id } = await openai.files.create({ file, purpose: 'batch' })
  const chats = await openai.batches.create({ input_file_id, endpoint: url, completion_window: '24h' })
  await until(async () => (await openai.batches.retrieve(chats.id)).status === 'in_progress')
  expect((await fetch(`${app.url}/api/keys/${keyId}`, { method: 'DELETE', headers })).status).toBe(200)
  // The same owner; the batches keep the rights of the key that is gone.
  const again = await makeKey()
  const openaiAgain = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: again.key })
  const anthropicAgain = new Anthropic({ baseURL: app.url, apiKey: again.key })
  await until(async () => (await anthropicAgain.messages.batches.retrieve(messages.id)).processing_status === 'ended')
  await until(async () => (await openaiAgain.batches.retrieve(chats.id)).status === 'completed')
  const results = []
  for await (const result of await anthropicAgain.messages.batches.results(messages.id)) results.push(result)
  expect(results.at(-1)).toMatchObject({
    result: { type: 'errored', error: { type: 'error', error: { type: 'authentication_error' } } },
  })
})
