import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../../test/support/http/app.ts'
import { openSocket } from '../../../test/support/http/responses-socket.ts'

const messages = [{ role: 'user', content: 'hello' }]
let app: RunningApp
/** One key for each test, so that none sees what another has used. */
const keyCount = 60
let nextKey = 0
const spent = () => `spent-${nextKey++}`
const roomy = () => `roomy-${nextKey++}`

beforeAll(async () => {
  const ofKind = (kind: string, limits: object) =>
    Array.from({ length: keyCount }, (_, index) => ({ key: `${kind}-${index}`, name: `${kind}-${index}`, ...limits }))
  app = await startApp({
    builtinModel: false,
    storage: {},
    models: [{ engine: 'fake', id: 'm', script: 'from-request', slots: 8, contextLength: 100_000 }],
    server: {
      keyLimits: { tokensPerMinute: 9000 },
      apiKeys: [
        ...ofKind('spent', { requestsPerMinute: 1 }),
        ...ofKind('roomy', { requestsPerMinute: 10, tokensPerMinute: 10_000 }),
        'plain',
        { key: 'operator', name: 'operator', scopes: ['admin'] },
      ],
    },
  })
})
afterAll(() => app.close())

function call(key: string, path: string, body?: object) {
  return fetch(`${app.url}${path}`, {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  })
}

const chat = (key: string, more: object = {}) =>
  call(key, '/v1/chat/completions', { model: 'm', messages, max_tokens: 20, ...more })
const limitHeaders = ({ headers }: Response) => Object.fromEntries([...headers].filter(([name]) => name.includes('ratelimit')))
const remaining = ({ headers }: Response) =>
  ['requests', 'tokens'].map((unit) => Number(headers.get(`x-ratelimit-remaining-${unit}`)))

describe('a key without requests left', () => {
  test.each<[path: string, body: object, error: object]>([
    ['/v1/chat/completions', { messages }, { type: 'rate_limit_error', code: 'rate_limit_exceeded' }],
    ['/v1/chat/completions', { messages, stream: true }, { type: 'rate_limit_error', code: 'rate_limit_exceeded' }],
    ['/v1/completions', { prompt: ['hello', 'hello'] }, { code: 'rate_limit_exceeded' }],
    ['/v1/embeddings', { input: 'hello' }, { code: 'rate_limit_exceeded' }],
    ['/v1/responses', { input: 'hello' }, { code: 'rate_limit_exceeded' }],
    ['/v1/responses', { input: 'hello', stream: true }, { code: 'rate_limit_exceeded' }],
    ['/v1/messages', { messages, max_tokens: 9 }, { type: 'rate_limit_error' }],
    ['/v1/messages', { messages, max_tokens: 9, stream: true }, { type: 'rate_limit_error' }],
    ['/v1/inference/chat-completion', { model_id: 'm', messages }, {}],
  ])('gets 429 from %s with %o, with the time to wait', async (path, body, error) => {
    const key = spent()
    expect((await chat(key)).status).toBe(200)
    const refused = await call(key, path, { ...(path.startsWith('/v1/inference') ? {} : { model: 'm' }), ...body })
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50)
    expect(await refused.json()).toMatchObject({ error })
  })

  test('is refused in the words of its protocol', async () => {
    const key = spent()
    await chat(key)
    const texts = await Promise.all([
      chat(key).then((reply) => reply.text()),
      call(key, '/v1/messages', { model: 'm', messages, max_tokens: 9 }).then((reply) => reply.text()),
    ])
    expect(texts[0]).toMatch(/requests per min \(RPM\): Limit 1, Used 1, Requested 1\. Please try again in (1m0s|[\d.]+s)\./)
    expect(texts[1]).toContain('would exceed the rate limit of this API key of 1 requests per minute')
  })

  test('leaves other keys alone, and may still ask about models and tokens', async () => {
    const key = spent()
    await chat(key)
    expect((await chat(spent())).status).toBe(200)
    expect((await call(key, '/v1/models')).status).toBe(200)
    expect((await call(key, '/v1/messages/count_tokens', { model: 'm', messages })).status).toBe(200)
    expect((await chat(key)).status).toBe(429)
  })

  test('cannot generate in the background either', async () => {
    const key = spent()
    await chat(key)
    const begun = await call(key, '/v1/responses', { model: 'm', input: 'hello', background: true })
    const { id } = (await begun.json()) as { id: string }
    const read = async () => (await (await call(key, `/v1/responses/${id}`)).json()) as { status: string }
    await expect.poll(async () => (await read()).status).toBe('failed')
    expect(await read()).toMatchObject({ error: { code: 'rate_limit_exceeded' } })
  })

  test('cannot generate on a socket either, where each response is a request', async () => {
    const { turn } = await openSocket(Number(new URL(app.url).port), { authorization: `Bearer ${spent()}` })
    expect(await turn({ model: 'm', input: 'hello' })).toMatchObject({ type: 'response.completed' })
    expect(await turn({ model: 'm', input: 'hello' })).toMatchObject({
      type: 'error',
      status: 429,
      error: { code: 'rate_limit_exceeded' },
    })
  })
})

describe('headers', () => {
  test('say in the forms of OpenAI what is left, on whole replies and on streams', async () => {
    const key = roomy()
    const whole = await chat(key)
    expect(limitHeaders(whole)).toEqual({
      'x-ratelimit-limit-requests': '10',
      'x-ratelimit-remaining-requests': '9',
      'x-ratelimit-reset-requests': expect.stringMatching(/^(1m0s|5\d(\.\d+)?s)$/),
      'x-ratelimit-limit-tokens': '10000',
      'x-ratelimit-remaining-tokens': expect.stringMatching(/^99\d\d$/),
      'x-ratelimit-reset-tokens': expect.stringMatching(/^(1m0s|5\d(\.\d+)?s)$/),
    })
    const { usage } = (await whole.json()) as { usage: { total_tokens: number } }
    expect(remaining(whole)).toEqual([9, 10_000 - usage.total_tokens])
    const streamed = await chat(key, { stream: true })
    expect(remaining(streamed)[0]).toBe(8)
    await streamed.text()
    // The reservation was replaced by what was used.
    expect(remaining(await call(key, '/v1/models'))).toEqual([8, 10_000 - 2 * usage.total_tokens])
  })

  test('say it in the forms of Anthropic on its routes', async () => {
    const key = roomy()
    const reply = await call(key, '/v1/messages', { model: 'm', messages, max_tokens: 20 })
    const tokens = { limit: '10000', remaining: expect.stringMatching(/^99\d\d$/) }
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    expect(limitHeaders(reply)).toEqual({
      'anthropic-ratelimit-requests-limit': '10',
      'anthropic-ratelimit-requests-remaining': '9',
      'anthropic-ratelimit-requests-reset': time,
      ...Object.fromEntries(
        ['tokens', 'input-tokens', 'output-tokens'].flatMap((group) => [
          [`anthropic-ratelimit-${group}-limit`, tokens.limit],
          [`anthropic-ratelimit-${group}-remaining`, tokens.remaining],
          [`anthropic-ratelimit-${group}-reset`, time],
        ]),
      ),
    })
    const list = await fetch(`${app.url}/v1/models`, { headers: { 'x-api-key': key, 'anthropic-version': '2023-06-01' } })
    expect(Object.keys(limitHeaders(list))).toContain('anthropic-ratelimit-requests-limit')
  })

  test('are there for limits only', async () => {
    expect(Object.keys(limitHeaders(await chat('plain')))).toHaveLength(3)
    expect(limitHeaders(await chat('operator'))).toEqual({})
    expect(limitHeaders(await fetch(`${app.url}/health`))).toEqual({})
  })
})

describe('tokens', () => {
  test('that are reserved for one stream are not there for another request, until it ends', async () => {
    const key = roomy()
    const controller = new AbortController()
    const script = JSON.stringify({ chunks: Array(300).fill('a '), delayMs: 100 })
    const stream = await fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      signal: controller.signal,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: script }], stream: true, max_tokens: 9500 }),
    })
    expect(remaining(stream)[1]).toBeLessThan(1000)
    const refused = await chat(key, { max_tokens: 20, messages: [{ role: 'user', content: 'word '.repeat(1500) }] })
    expect(refused.status).toBe(429)
    expect(await refused.text()).toContain('tokens per min (TPM): Limit 10000')
    controller.abort()
    await expect.poll(async () => remaining(await call(key, '/v1/models'))[1]).toBeGreaterThan(9000)
  })

  test('of a prompt that is larger than the limit are refused without a time to wait', async () => {
    const reply = await chat(roomy(), { messages: [{ role: 'user', content: 'word '.repeat(30_000) }] })
    expect(reply.status).toBe(429)
    expect(reply.headers.get('retry-after')).toBeNull()
    expect(await reply.text()).toContain('Request too large')
  })

  test('are not used by a request that is refused for another reason', async () => {
    const key = roomy()
    expect((await chat(key, { temperature: 99 })).status).toBe(400)
    expect((await chat(key, { model: 'other' })).status).toBe(404)
    expect(remaining(await call(key, '/v1/models'))).toEqual([10, 10_000])
  })

  test.each<[string, object]>([
    ['/v1/completions', { prompt: ['one two', 'three four'], max_tokens: 20 }],
    ['/v1/responses', { input: 'hello there' }],
    ['/v1/embeddings', { input: ['hello', 'there'] }],
  ])('that %s used are those that its reply reports', async (path, body) => {
    const key = roomy()
    const reply = await call(key, path, { model: 'm', ...body })
    const { usage } = (await reply.json()) as { usage: { total_tokens: number } }
    expect(usage.total_tokens).toBeGreaterThan(0)
    expect(remaining(reply)).toEqual([9, 10_000 - usage.total_tokens])
  })
})
