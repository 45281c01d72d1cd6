import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeNow } from '../../../../test/support/decode-now.ts'
import { createTestServer } from '../../../../test/support/http/test-server.ts'
import { playingEngine, shortUsage, stubEngine } from '../../../../test/support/upstream/stub-engine.ts'
import type { Engine } from '../../../contract/engine.ts'
import { llamaCompletion } from '../../../dialect/llama-server/dialect.ts'
import { createFakeEngine } from '../../../engine/fake/engine.ts'

const chatTemplate = fileURLToPath(new URL('../../../dialect/openai-chat/__fixtures__/hermes.jinja', import.meta.url))
let app: FastifyInstance
beforeAll(() => {
  app = createTestServer({ engine: createFakeEngine({ script: 'from-request', contextLength: 1000 }) }).app
})
afterAll(() => app.close())

async function post(url: string, body: object) {
  const reply = await app.inject({ method: 'POST', url, payload: body })
  return { status: reply.statusCode, text: reply.body, headers: reply.headers, json: () => reply.json() }
}

const get = async (url: string) => (await app.inject({ method: 'GET', url })).json()
const framesOf = (text: string) => text.split('\n\n').flatMap((frame) => (frame === '' ? [] : [JSON.parse(frame.slice(6))]))

describe('POST /completion', () => {
  test('a prompt has its control tokens, since its caller renders the template', () => {
    const { requests } = decodeNow(llamaCompletion, { model: 'm', prompt: '<|im_start|>user' })
    expect(requests[0].prompt).toEqual({ type: 'text', text: '<|im_start|>user', readsControlTokens: true })
  })

  test('a reply has the text, why it ended, and its times', async () => {
    const { status, json } = await post('/completion', { prompt: 'one two', n_predict: 50 })
    expect(status).toBe(200)
    expect(json()).toMatchObject({
      index: 0,
      content: 'one two',
      stop: true,
      stop_type: 'eos',
      stopping_word: '',
      truncated: false,
      prompt: 'one two',
      has_new_line: false,
      timings: { prompt_n: expect.any(Number), predicted_per_second: expect.any(Number) },
    })
  })

  test('a stream has pieces, then the reply without its text, and no [DONE]', async () => {
    const { headers, text } = await post('/completion', { prompt: 'one two', stream: true })
    expect(headers['content-type']).toContain('text/event-stream')
    const frames = framesOf(text)
    const last = frames.pop()
    expect(frames.map(({ content }) => content).join('')).toBe('one two')
    expect(frames.every(({ stop }) => stop === false)).toBe(true)
    expect(last).toMatchObject({ content: '', stop: true, stop_type: 'eos', model: expect.any(String) })
  })

  test('a stop sequence and a limit end with different reasons', async () => {
    expect((await post('/completion', { prompt: 'one two', stop: ['two'] })).json()).toMatchObject({
      content: 'one ',
      stop_type: 'word',
      stopping_word: 'two',
    })
    expect((await post('/completion', { prompt: 'one two', n_predict: 1 })).json()).toMatchObject({ stop_type: 'limit' })
  })

  test('several prompts have an array of replies', async () => {
    const replies = (await post('/completion', { prompt: ['a', 'b'] })).json()
    expect(replies.map(({ index, content, prompt }: Record<string, unknown>) => [index, content, prompt])).toEqual([
      [0, 'a', 'a'],
      [1, 'b', 'b'],
    ])
  })

  test('a prompt may be an object, alone or beside others; media in it are refused', async () => {
    expect((await post('/completion', { prompt: { prompt_string: 'one', multimodal_data: [] } })).json()).toMatchObject({
      content: 'one',
    })
    const several = await post('/completion', { prompt: ['one', { prompt_string: 'two' }, [116, 101]] })
    expect(several.json()).toMatchObject([{ content: 'one' }, { content: 'two' }, {}])
    const seeing = await post('/completion', { prompt: { prompt_string: 'what is it?', multimodal_data: ['aGk='] } })
    expect(seeing.status).toBe(400)
    expect(seeing.text).toContain('send pictures to /v1/chat/completions')
  })

  test('a prompt that is too long has the counts that clients cut it by', async () => {
    const { status, json } = await post('/completion', { prompt: 'word '.repeat(1200) })
    expect([status, json().error]).toMatchObject([400, { type: 'exceed_context_size_error', n_prompt_tokens: 1200, n_ctx: 1000 }])
  })

  test('n_predict 0 reads the prompt and shows nothing', async () => {
    for (const stream of [false, true]) {
      const { text, json } = await post('/completion', { prompt: 'one two', n_predict: 0, stream })
      const replies = stream ? framesOf(text) : [json()]
      expect(replies).toMatchObject([{ content: '', stop: true, stop_type: 'limit' }])
    }
  })

  test('response_fields are all that a reply has, also inside objects', async () => {
    const { json } = await post('/completion', { prompt: 'a', response_fields: ['content', 'timings/prompt_n', 'none', 'x/y'] })
    expect(Object.keys(json())).toEqual(['content', 'timings/prompt_n'])
  })

  test('log-probabilities have ids, texts, bytes and the best candidates', async () => {
    const { json } = await post('/completion', { prompt: 'ab', n_probs: 2 })
    const [first] = json().completion_probabilities
    expect(first).toMatchObject({ id: expect.any(Number), token: expect.any(String), logprob: expect.any(Number) })
    expect(first.bytes).toEqual([...Buffer.from(first.token)])
    expect(first.top_logprobs.length).toBeGreaterThan(0)
  })

  test('what is refused is named, with all that is refused', async () => {
    const { status, json } = await post('/completion', { prompt: 'a', post_sampling_probs: true, penalty_alpha: 0.5 })
    expect(status).toBe(400)
    expect(json().error.message).toMatch(/^post_sampling_probs true .*; penalty_alpha 0\.5 /)
  })

  test('a failure in a stream is an event', async () => {
    const script = JSON.stringify({ raw: 'one two', failAfter: 1 })
    const frames = framesOf((await post('/completion', { prompt: script, stream: true })).text)
    expect(frames.at(-1)).toMatchObject({ error: { message: expect.any(String) } })
  })
})

describe('POST /infill', () => {
  test('the model gets what is before and after the cursor', async () => {
    const body = {
      input_prefix: 'def f',
      input_suffix: 'return',
      prompt: '(',
      input_extra: [{ filename: 'a.py', text: 'x = 1' }],
    }
    const asked: unknown[] = []
    const playing = playingEngine([{ type: 'finish', choice: 0, reason: 'stop' }, shortUsage])
    const prepare: Engine['prepare'] = (request, signal) => {
      asked.push(request.prompt)
      return playing.prepare(request, signal)
    }
    const server = createTestServer({ engine: { ...playing, prepare } }).app
    const reply = await server.inject({ method: 'POST', url: '/infill', payload: body })
    await server.close()
    expect(asked).toEqual([{ type: 'infill', prefix: 'x = 1\ndef f(', suffix: 'return' }])
    expect(reply.json()).toMatchObject({ content: '', stop: true, stop_type: 'eos' })
  })

  test('a model without tokens for it says so', async () => {
    const { status, json } = await post('/infill', { input_prefix: 'a', input_suffix: 'b' })
    expect(status).toBe(400)
    expect(json().error.message).toContain('input_suffix')
  })
})

describe('the other routes', () => {
  test('embeddings are lists of vectors', async () => {
    const vectors = [Float32Array.of(1, 0), Float32Array.of(0, 1)]
    const embedder = { embed: async () => ({ vectors, inputTokens: 2 }) }
    const server = createTestServer({ engine: { ...stubEngine(), capabilities: { embedder } } as never }).app
    const reply = await server.inject({ method: 'POST', url: '/embedding', payload: { content: ['a', 'b'] } })
    expect(reply.json()).toEqual([
      { index: 0, embedding: [[1, 0]] },
      { index: 1, embedding: [[0, 1]] },
    ])
    await server.close()
  })

  test('the tokens of a chat are counted', async () => {
    const server = createTestServer({ engine: createFakeEngine({ script: 'from-request', chatTemplate }) }).app
    const messages = [{ role: 'user', content: 'Hello' }]
    const reply = await server.inject({ method: 'POST', url: '/chat/completions/input_tokens', payload: { messages } })
    expect(reply.json()).toEqual({ object: 'response.input_tokens', input_tokens: expect.any(Number) })
    await server.close()
  })

  test('what llama-server refuses without an option for it is refused in its form', async () => {
    for (const url of ['/props', '/slots/0?action=save']) {
      const { status, json } = await post(url, { filename: 'a' })
      expect([status, json().error]).toEqual([
        501,
        { code: 501, type: 'not_supported_error', message: expect.stringMatching(/^This server does not support /) },
      ])
    }
  })

  test('its page is told that there are no tools, in the form that it reads', async () => {
    for (const method of ['GET', 'POST'] as const) {
      const reply = await app.inject({ method, url: '/tools', ...(method === 'POST' && { payload: {} }) })
      expect([reply.statusCode, reply.json()]).toEqual([
        403,
        { error: { message: 'this feature is disabled', type: 'feature_disabled' } },
      ])
    }
  })

  test("n_predict 0 reads a conversation into the cache: a chat has one token, as llama-server's, a completion none", async () => {
    const messages = [{ role: 'user', content: 'Hello again' }]
    const chat = await post('/v1/chat/completions', { messages, n_predict: 0 })
    expect([chat.status, chat.json().choices[0].message.content, chat.json().usage.completion_tokens]).toEqual([200, 'Hello', 1])
    expect((await post('/completion', { prompt: 'Hello again', n_predict: 0 })).json().content).toBe('')
    expect((await post('/v1/chat/completions', { messages, max_tokens: 0 })).status).toBe(400)
  })

  test.each(['/v1/chat/completions', '/completion'])(
    'a prompt that does not fit is an error with both numbers: %s',
    async (url) => {
      const text = 'a '.repeat(2000)
      const prompt = url.includes('chat') ? { messages: [{ role: 'user', content: text }] } : { prompt: text }
      const { status, json } = await post(url, prompt)
      expect([status, json().error]).toMatchObject([400, { n_prompt_tokens: expect.any(Number), n_ctx: 1000 }])
      expect(json().error.n_prompt_tokens).toBeGreaterThanOrEqual(1000)
    },
  )

  test('tokens have their pieces where a request wants them; a part of a character is bytes', async () => {
    const { json } = await post('/tokenize', { content: 'aé', with_pieces: true })
    expect(json()).toEqual({
      tokens: [
        { id: 97, piece: 'a' },
        { id: 195, piece: [195] },
        { id: 169, piece: [169] },
      ],
    })
    expect((await post('/tokenize', { content: 'a', with_pieces: false })).json()).toEqual({ tokens: [97] })
    const { tokenizer } = createFakeEngine({ script: 'from-request' }).capabilities
    const { pieces: _, ...less } = tokenizer ?? {}
    const server = createTestServer({ engine: { ...stubEngine(), capabilities: { tokenizer: less } } as never }).app
    const reply = await server.inject({ method: 'POST', url: '/tokenize', payload: { content: 'a', with_pieces: true } })
    expect([reply.statusCode, reply.json().error.message]).toEqual([400, expect.stringMatching(/^with_pieces true: /)])
    await server.close()
  })

  test('slots, models and lists of other servers', async () => {
    const [slot] = await get('/slots')
    expect(slot).toEqual({ id: 0, n_ctx: 1000, speculative: false, is_processing: false })
    const [{ id }] = (await get('/models')).data
    expect(await get('/api/v0/models')).toMatchObject({
      object: 'list',
      data: [{ id, type: 'vlm', state: 'loaded', max_context_length: 1000, capabilities: ['tool_use'] }],
    })
    expect(await get(`/api/v0/models/${id}`)).toMatchObject({ id })
    expect(await get('/v1/internal/model/info')).toEqual({ model_name: id, lora_names: [] })
    expect(await get('/v1/internal/model/list')).toEqual({ model_names: [id] })
  })
})
