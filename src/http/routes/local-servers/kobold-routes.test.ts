import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createTestServer } from '../../../../test/support/http/test-server.ts'
import { stubEngine } from '../../../../test/support/upstream/stub-engine.ts'
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

describe('the placeholders of KoboldAI Lite', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-kobold-'))
  const chatTemplate = join(folder, 'chat.jinja')
  beforeAll(() => {
    const turns =
      "{% for m in messages %}{% set tag = 'user' if m.role == 'user' else 'model' %}<{{ tag }}>{{ m.content }}</{{ tag }}>{% endfor %}"
    writeFileSync(chatTemplate, `${turns}{% if add_generation_prompt %}<model>{% endif %}`)
  })
  afterAll(() => rmSync(folder, { recursive: true }))
  const asked = {
    replace_instruct_placeholders: true,
    memory: 'Be brief.\n',
    prompt: '{{[INPUT]}}Hi{{[OUTPUT]}}Ho{{[INPUT]}}And?{{[OUTPUT]}}',
  }
  const serve = async (body: object, options: object) => {
    const engine = createFakeEngine({ script: 'from-request', contextLength: 1000, ...options })
    const { app: other } = createTestServer({ engine })
    onTestFinished(() => other.close())
    const reply = await other.inject({ method: 'POST', url: '/api/v1/generate', payload: body })
    return reply.json().results?.[0].text ?? reply.json().detail.msg
  }

  test('become what the chat template writes around turns', async () => {
    expect(await serve(asked, { chatTemplate })).toBe(
      'Be brief.\n</model><user>Hi</user><model>Ho</model><user>And?</user><model>',
    )
    expect(await serve({ ...asked, memory: '' }, { chatTemplate })).toMatch(/^<user>Hi/)
  })

  test('become single texts where the client writes the ends of turns itself', async () => {
    const prompt = '{{[INPUT]}}Hi{{[INPUT_END]}}{{[OUTPUT]}}Ho{{[OUTPUT_END]}}{{[INPUT]}}'
    expect(await serve({ ...asked, memory: '', prompt }, { chatTemplate })).toBe('<user>Hi</user><model>Ho</model><user>')
  })

  test('are replaced in stop sequences, too', async () => {
    const body = { ...asked, prompt: 'Hi</user><model>Ho', memory: '', stop_sequence: ['{{[OUTPUT]}}'] }
    expect(await serve(body, { chatTemplate })).toBe('Hi')
  })

  test("become KoboldCpp's texts for a model without a template, and stay texts where they are not to be replaced", async () => {
    expect(await serve(asked, {})).toContain('\n### Instruction:\nHi\n### Response:\nHo')
    expect(await serve({ ...asked, replace_instruct_placeholders: false }, { chatTemplate })).toContain('{{[INPUT]}}Hi')
  })

  test('are refused where they cannot be made', async () => {
    expect(await serve({ ...asked, prompt: '{{[SYSTEM]}}a' }, { chatTemplate })).toContain(
      'replace_instruct_placeholders true with {{[SYSTEM]}}',
    )
    const hidden = stubEngine({ capabilities: {} })
    const { app: other } = createTestServer({ engine: hidden })
    onTestFinished(() => other.close())
    const reply = await other.inject({ method: 'POST', url: '/api/v1/generate', payload: asked })
    expect([reply.statusCode, reply.json().detail.msg]).toEqual([
      400,
      expect.stringContaining('replace_instruct_placeholders true:'),
    ])
  })
})

test('a generation is shown by its genkey while it runs, and its log-probabilities afterwards', async () => {
  const script = JSON.stringify({ chunks: ['one ', 'two'], delayMs: 0 })
  const check = async (genkey: string) => (await post('/api/extra/generate/check', { genkey })).json().results[0].text
  expect(await check('KCPP2')).toBe('')
  const endless = JSON.stringify({ chunks: ['begun ', ...Array.from({ length: 50 }, () => 'x')], delayMs: 100 })
  const running = post('/api/v1/generate', { prompt: endless, genkey: 'KCPP2' })
  await expect.poll(() => check('KCPP2')).toMatch(/^begun /)
  expect(await check('KCPP3')).toBe('')
  await post('/api/extra/abort', { genkey: 'KCPP2' })
  await running
  const logprobs = async (genkey: string) => (await post('/api/extra/last_logprobs', { genkey })).json().logprobs
  expect(await logprobs('KCPP2')).toBeNull()
  await post('/api/v1/generate', { prompt: script, genkey: 'KCPP4', logprobs: true })
  expect(await logprobs('KCPP4')).toMatchObject({
    content: [{ token: 'one ', logprob: 0, top_logprobs: [{ token: 'one ' }] }, { token: 'two' }],
    tokens: ['one ', 'two'],
    text_offset: [0, 4],
  })
})

test("callers that cannot be told apart do not see each other's last generation", async () => {
  await post('/api/v1/generate', { prompt: 'a secret' })
  expect(await get('/api/extra/generate/check')).toEqual({ results: [{ text: '' }] })
})

test('scripts read tokens, vectors and numbers', async () => {
  expect((await post('/api/extra/detokenize', { ids: [72, 195, 169] })).json()).toEqual({ result: 'Hé', success: true })
  expect((await post('/api/extra/detokenize', { ids: ['a'] })).json().detail.msg).toContain('ids[0]')
  expect((await post('/api/extra/embeddings', { model: 'kcpp', input: 'a' })).json().data[0].embedding).toHaveLength(64)
  expect((await post('/api/extra/embeddings', { model: 'other', input: 'a' })).status).toBe(404)
  await post('/api/v1/generate', { prompt: 'one two three', max_length: 2 })
  expect(await get('/api/extra/perf')).toMatchObject({ last_token_count: 2, stop_reason: 0, idle: 1, queue: 0 })
  const grammar = await post('/api/extra/json_to_grammar', { schema: { type: 'object' } })
  expect([grammar.status, grammar.json().detail.msg]).toEqual([501, expect.stringContaining('json_schema')])
  expect(await get('/api/v1/config/soft_prompts_list')).toEqual({ values: [] })
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
  [[], 'expected an object'],
  [null, 'JSON object'],
])('a count of the tokens of %j names the fault', async (body, message) => {
  const response = await post('/api/extra/tokencount', body as object)
  expect([response.status, JSON.stringify(response.json())]).toEqual([400, expect.stringContaining(message)])
})
