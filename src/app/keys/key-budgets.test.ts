import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../../test/support/http/app.ts'

const messages = [{ role: 'user', content: 'hello' }]
let folder: string
let app: RunningApp

async function start() {
  app = await startApp({
    builtinModel: false,
    storage: join(folder, 'store.db'),
    models: [{ engine: 'fake', id: 'm', script: 'from-request', contextLength: 100_000 }],
    server: {
      adminKey: 'root',
      keyGroups: { team: { tokensPerDay: 60 } },
      apiKeys: ['openai', 'anthropic', 'ollama', 'kept', 'usage', 'embeds'].map((name) => ({
        key: name,
        name,
        tokensPerDay: 100,
      })),
    },
  })
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-budgets-'))
  await start()
})
afterAll(async () => {
  await app.close()
  await rm(folder, { recursive: true })
})

async function ask(key: string, path: string, body?: object) {
  const reply = await fetch(`${app.url}${path}`, {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  })
  return { status: reply.status, headers: reply.headers, body: JSON.parse(await reply.text()) }
}
const chat = (key: string, more: object = {}) =>
  ask(key, '/v1/chat/completions', { model: 'm', max_tokens: 5, messages, ...more })

describe('a request that a budget is too small for', () => {
  const message =
    /^the budget of this API key is 100 tokens per day, of which 100 remain; this request may take \d{3}: .* at \d{4}-.*Z$/

  test.each([
    [
      'openai',
      '/v1/chat/completions',
      { max_tokens: 500 },
      { error: { type: 'insufficient_quota', code: 'insufficient_quota' } },
    ],
    ['anthropic', '/v1/messages', { max_tokens: 500 }, { type: 'error', error: { type: 'rate_limit_error' } }],
    ['ollama', '/api/chat', { options: { num_predict: 500 }, stream: false }, {}],
  ])('is refused in the form of %s, with what remains and until when', async (key, path, more, form) => {
    const { status, headers, body } = await ask(key, path, { model: 'm', messages, ...more })
    expect(status).toBe(429)
    expect(body).toMatchObject(form)
    expect(typeof body.error === 'string' ? body.error : body.error.message).toMatch(message)
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    expect(headers.get('x-should-retry')).toBe('false')
    expect((await chat(key)).status).toBe(200)
  })
})

test('a key with a group shares its budget with the others of it, and another group is refused by name', async () => {
  const make = (body: object) => ask('root', '/api/keys', body)
  expect(await make({ name: 'x', group: 'crew' })).toMatchObject({
    status: 400,
    body: { error: { param: 'group', message: expect.stringContaining('it is one of: team') } },
  })
  const [one, two] = [
    await make({ name: 'one', group: 'team' }),
    await make({ name: 'two', group: 'team', tokens_per_month: 1000 }),
  ]
  expect(two.body).toMatchObject({ group: 'team', tokens_per_month: 1000 })
  expect((await chat(one.body.key, { max_tokens: 50 })).status).toBe(200)
  const { body: used } = await ask(one.body.key, '/api/usage')
  expect(used.budgets).toMatchObject([{ period: 'day', group: 'team', limit: 60 }])
  const refused = await chat(two.body.key, { max_tokens: 60 })
  expect(refused).toMatchObject({
    status: 429,
    body: { error: { message: expect.stringContaining("the group 'team' of this") } },
  })
})

test('a key of the configuration with an unknown group is a mistake in it', async () => {
  const apiKeys = [{ key: 'a-key', group: 'nobody' }]
  const config = { builtinModel: false, storage: 'off', models: [], server: { apiKeys, keyGroups: { team: {} } } }
  await expect(startApp(config as never)).rejects.toThrow(/one of the groups in server\.keyGroups \(team\)/)
})

test('embeddings are listed like generations', async () => {
  const { body } = await ask('embeds', '/v1/embeddings', { model: 'm', input: ['one two', 'three'] })
  const [listed] = (await ask('embeds', '/api/usage')).body.usage
  expect(listed).toMatchObject({ model: 'm', requests: 1, input_tokens: body.usage.prompt_tokens, output_tokens: 0 })
})

test('what was used is listed by day, key and model, to its key and to operators, and survives a restart like its budget', async () => {
  const { body } = await chat('usage')
  const today = new Date().toISOString().slice(0, 10)
  const { prompt_tokens: input_tokens, completion_tokens: output_tokens, total_tokens: used } = body.usage
  const row = { day: today, key: 'usage', model: 'm', requests: 1, input_tokens, cached_input_tokens: 0, output_tokens }
  const read = async (key: string, query = '') => (await ask(key, `/api/usage${query}`)).body
  const own = { usage: [row], budgets: [{ period: 'day', limit: 100, used, remaining: 100 - used }] }
  await expect.poll(() => read('usage')).toMatchObject(own)
  expect((await read('root', '?key=usage')).usage).toEqual([row])
  expect((await read('root')).usage.length).toBeGreaterThan(1)
  expect((await read('kept', '?key=usage')).usage).toEqual([])
  expect((await read('usage', '?to=2000-01-01')).usage).toEqual([])
  expect((await ask('usage', '/api/usage?from=yesterday')).status).toBe(400)
  await app.close()
  await start()
  expect(await read('usage')).toMatchObject(own)
})
