import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestServer } from '../../../../test/support/http/test-server.ts'
import { createFakeEngine } from '../../../engine/fake/engine.ts'

let app: FastifyInstance
beforeAll(() => {
  app = createTestServer({ engine: createFakeEngine({ script: 'from-request', contextLength: 1000 }) }).app
})
afterAll(() => app.close())

async function post(url: string, body: object) {
  const reply = await app.inject({ method: 'POST', url, payload: body })
  return { status: reply.statusCode, text: reply.body, json: () => reply.json() }
}

const get = async (url: string) => (await app.inject({ method: 'GET', url })).json()

describe('generate', () => {
  test('the reply has the text, why it ended, and the tokens', async () => {
    expect((await post('/api/v1/generate', { prompt: 'one two' })).json()).toEqual({
      results: [
        {
          text: 'one two',
          finish_reason: 'stop',
          prompt_tokens: expect.any(Number),
          completion_tokens: expect.any(Number),
        },
      ],
    })
  })

  test('memory comes first, a limit ends, and a single line too', async () => {
    expect((await post('/api/v1/generate', { prompt: 'b', memory: 'a ' })).json().results[0].text).toBe('a b')
    const short = await post('/api/latest/generate', { prompt: 'one two three', max_length: 1 })
    expect(short.json().results[0].finish_reason).toBe('length')
    const lined = await post('/api/v1/generate', { prompt: 'one\ntwo', singleline: true, stop_sequence: ['x'] })
    expect(lined.json().results[0].text).toBe('one')
  })

  test('other spellings of its fields are the same, and what the reply has no place for is named', async () => {
    const reply = await app.inject({
      method: 'POST',
      url: '/api/v1/generate',
      payload: { prompt: 'one two three', stop: ['three'], n_predict: 50, echo: true, surprise: 1 },
    })
    expect(reply.json().results[0]).toMatchObject({ text: 'one two ', finish_reason: 'stop' })
    expect(reply.headers['x-dragoman-ignored']).toBe('echo, surprise')
  })

  test('a stream has a token in each event, and the reason in the last', async () => {
    const { text } = await post('/api/extra/generate/stream', { prompt: 'one two' })
    const events = text.split('\n\n').filter((frame) => frame !== '')
    expect(events.every((frame) => frame.startsWith('event: message\ndata: '))).toBe(true)
    const data = events.map((frame) => JSON.parse(frame.slice(frame.indexOf('data: ') + 6)))
    expect(data.map(({ token }) => token).join('')).toBe('one two')
    expect(data.at(-1)).toEqual({ token: '', finish_reason: 'stop' })
  })

  test('what is refused is in `detail`', async () => {
    const { status, json } = await post('/api/v1/generate', { prompt: 'a', trim_stop: false, penalty_alpha: 0.5 })
    expect(status).toBe(400)
    expect(json()).toEqual({ detail: { msg: expect.stringContaining('trim_stop false'), type: 'unsupported_field' } })
  })
})

test('a request is ended by its genkey, and without one nothing is', async () => {
  const script = JSON.stringify({ raw: 'one', delayMs: 3_600_000 })
  const running = post('/api/v1/generate', { prompt: script, genkey: 'KCPP1' })
  await expect.poll(async () => (await post('/api/extra/abort', { genkey: 'KCPP1' })).json()).toMatchObject({ success: true })
  await expect.poll(async () => (await get('/slots'))[0].is_processing).toBe(false)
  expect((await running).status).toBe(200)
  const bare = await app.inject({ method: 'POST', url: '/api/extra/abort' })
  expect([bare.statusCode, bare.json()]).toEqual([200, { success: false, done: false }])
})

test('what clients ask before they generate', async () => {
  expect((await get('/api/v1/model')).result).toMatch(/^koboldcpp\/./)
  expect(await get('/api/v1/info/version')).toEqual({ result: '1.2.5' })
  expect(await get('/api/extra/version')).toMatchObject({ result: 'KoboldCpp', llm: true })
  expect(await get('/api/extra/true_max_context_length')).toEqual({ value: 1000 })
  expect(await get('/api/latest/config/max_length')).toEqual({ value: 100 })
  expect((await post('/api/extra/tokencount', { prompt: 'Hé', special: false })).json()).toEqual({
    value: 3,
    ids: [72, 195, 169],
  })
})

test.each([
  [{}, 'prompt is missing'],
  [{ prompt: ['a'] }, 'prompt: '],
  [[], 'prompt is missing'],
  [null, 'JSON object'],
])('a count of the tokens of %j names the fault', async (body, message) => {
  const response = await post('/api/extra/tokencount', body as object)
  expect([response.status, JSON.stringify(response.json())]).toEqual([400, expect.stringContaining(message)])
})
