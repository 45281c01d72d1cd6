import type Anthropic from '@anthropic-ai/sdk'
import { describe, expect, test } from 'vitest'
import { openTestServer } from '../../../test/support/http/test-server.ts'
import { engineOver, fine, upstream } from '../../../test/support/upstream/remote-engine.ts'
import { type Answer, chatChunk, doneLine, streamOf, usageChunk } from '../../../test/support/upstream/upstream.ts'
import { createWireCheck } from '../../../test/support/wire-schema.ts'
import { createFakeEngine } from '../../engine/fake/engine.ts'
import type { ProfileName } from '../../engine/remote/servers/profile.ts'

const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' }
const body = { model: 'default', max_tokens: 50, messages: [{ role: 'user', content: 'one two three' }] }

const checkMessage = createWireCheck('AnthropicMessage')
const checkEvent = createWireCheck('AnthropicStreamEvent')
const checkError = createWireCheck('AnthropicErrorResponse')
const checkCount = createWireCheck('AnthropicCountTokens')
const checkModel = createWireCheck('AnthropicModelInfo')

function requireMessage(value: unknown): asserts value is Anthropic.Message {
  checkMessage(value)
}

function requireEvent(value: unknown): asserts value is Anthropic.MessageStreamEvent {
  checkEvent(value)
}

async function open(options: Parameters<typeof openTestServer>[0] = {}) {
  const { listen } = openTestServer(options)
  const url = `http://127.0.0.1:${await listen()}`
  return (path: string, fields?: object) =>
    fetch(`${url}${path}`, fields === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(fields) })
}

describe('POST /v1/messages', () => {
  test('a whole reply, with the id of the request', async () => {
    const ask = await open()
    const response = await ask('/v1/messages', body)
    const message: unknown = await response.json()
    requireMessage(message)
    expect(message).toMatchObject({ role: 'assistant', model: 'org/fake', stop_reason: 'end_turn' })
    expect(message.id).toMatch(/^msg_/)
    expect(response.headers.get('request-id')).toMatch(/^req_/)
  })

  test('a thinking budget that a server behind the model does not know is ignored, and said so', async () => {
    const server = await upstream(fine)
    const ask = await open({ engine: engineOver([server]) })
    const thinking = { type: 'enabled', budget_tokens: 1024 }
    const response = await ask('/v1/messages', { ...body, max_tokens: 2000, thinking })
    requireMessage(await response.json())
    expect(response.headers.get('x-dragoman-ignored')).toBe('thinking.budget_tokens, thinking')
  })

  test('a stream has the text of the whole reply', async () => {
    const ask = await open()
    const whole: unknown = await (await ask('/v1/messages', body)).json()
    requireMessage(whole)
    const response = await ask('/v1/messages', { ...body, stream: true })
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    const events = (await response.text())
      .split('\n\n')
      .slice(0, -1)
      .map((frame) => {
        const event: unknown = JSON.parse(frame.replace(/^event: \w+\ndata: /, ''))
        requireEvent(event)
        return event
      })
    const texts = events.map((event) =>
      event.type === 'content_block_delta' && event.delta.type === 'text_delta' ? event.delta.text : '',
    )
    expect(whole.content).toMatchObject([{ type: 'text', text: texts.join('') }])
    expect(events.at(-1)).toEqual({ type: 'message_stop' })
  })

  const counted = { usage: { prompt_tokens: 9, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 4 } } }
  const timed = { timings: { prompt_n: 5, cache_n: 4, predicted_n: 1 } }
  const late = streamOf(chatChunk({ delta: { content: 'ok' }, finish_reason: 'stop' }), usageChunk(9, 1), doneLine)
  const early = (more: object) =>
    streamOf(
      chatChunk({ delta: { content: 'o' } }, { ...more }),
      chatChunk({ delta: { content: 'k' }, finish_reason: 'stop' }),
      doneLine,
    )
  const tokenizing: Answer = (request, response) => {
    if (request.path === '/apply-template') response.end('{"prompt":"<s>one two"}')
    else if (request.path === '/tokenize') response.end('{"tokens":[1,2,3,4,5,6,7,8,9]}')
    else return late(request, response)
    return undefined
  }
  test.each<[string, ProfileName, Answer, object]>([
    ['counts as it goes', 'vllm', early(counted), { input_tokens: 5, cache_read_input_tokens: 4 }],
    ['counts as it goes', 'sglang', early(counted), { input_tokens: 5, cache_read_input_tokens: 4 }],
    ['reports timings', 'llama-server', early(timed), { input_tokens: 5, cache_read_input_tokens: 4 }],
    ['has a tokenizer', 'dragoman', tokenizing, { input_tokens: 9, cache_read_input_tokens: 0 }],
    ['tells it at the end only', 'openai', late, { input_tokens: 0, cache_read_input_tokens: 0 }],
  ])('a stream begins with the tokens of its prompt where the server %s (%s)', async (_, profile, reply, usage) => {
    const ask = await open({ engine: engineOver([await upstream(reply)], { profile, upstreamModel: 'up' }) })
    const [first] = (await (await ask('/v1/messages', { ...body, stream: true })).text()).split('\n\n')
    expect(JSON.parse(first?.replace(/^event: message_start\ndata: /, '') ?? '')).toMatchObject({ message: { usage } })
  })

  test('the tokens of a prompt are not counted for a whole reply, which ends with them', async () => {
    const server = await upstream(tokenizing)
    const ask = await open({ engine: engineOver([server], { profile: 'dragoman', upstreamModel: 'up' }) })
    expect(await (await ask('/v1/messages', body)).json()).toMatchObject({ usage: { input_tokens: 9 } })
    expect(server.seen.map(({ path }) => path)).toEqual(['/v1/chat/completions'])
  })

  test('a limit above the context is shortened, and the end is said', async () => {
    const ask = await open({ engine: createFakeEngine({ script: 'from-request', contextLength: 6 }) })
    const response = await ask('/v1/messages', { ...body, max_tokens: 32_000 })
    expect(await response.json()).toMatchObject({ type: 'message', stop_reason: 'model_context_window_exceeded' })
  })

  test('a prompt above the context is refused in the words that clients read', async () => {
    const ask = await open({ engine: createFakeEngine({ script: 'from-request', contextLength: 2 }) })
    const response = await ask('/v1/messages', body)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 3 tokens > 2 maximum' },
      request_id: response.headers.get('request-id'),
    })
  })

  test.each([
    ['an unknown model', { ...body, model: 'nope' }, 404, 'not_found_error', "model 'nope' not found"],
    ['a bad field', { ...body, max_tokens: 0 }, 400, 'invalid_request_error', 'max_tokens'],
  ])('%s has its envelope', async (_, fields, status, type, message) => {
    const ask = await open()
    const response = await ask('/v1/messages', fields)
    expect(response.status).toBe(status)
    const reply: unknown = await response.json()
    checkError(reply)
    expect(reply).toMatchObject({ error: { type, message: expect.stringContaining(message) } })
  })

  test('an unknown route below it has its envelope too', async () => {
    const ask = await open()
    const response = await ask('/v1/messages/others', {})
    expect(response.headers.get('request-id')).toMatch(/^req_/)
    expect(await response.json()).toMatchObject({ type: 'error', error: { type: 'not_found_error' } })
  })
})

describe('POST /v1/messages/count_tokens', () => {
  test('counts what a message would report', async () => {
    const ask = await open()
    const { max_tokens: _, ...prompt } = body
    const response = await ask('/v1/messages/count_tokens', prompt)
    expect(response.headers.get('request-id')).toMatch(/^req_/)
    const count: unknown = await response.json()
    checkCount(count)
    const message: unknown = await (await ask('/v1/messages', body)).json()
    requireMessage(message)
    expect(count).toEqual({ input_tokens: message.usage.input_tokens })
  })

  test('an engine without a tokenizer gives an estimate, and says so', async () => {
    const engine = createFakeEngine({ script: 'from-request' })
    const { tokenizer: _, ...capabilities } = engine.capabilities
    const ask = await open({ engine: Object.create(engine, { capabilities: { value: capabilities } }) })
    const { max_tokens: __, ...prompt } = body
    const count: unknown = await (await ask('/v1/messages/count_tokens', prompt)).json()
    expect(count).toEqual({ input_tokens: expect.any(Number), estimated: true })
    expect(count).not.toMatchObject({ input_tokens: 0 })
  })
})

describe('GET /v1/models with the header of Anthropic', () => {
  test('has its form', async () => {
    const ask = await open()
    const one: unknown = await (await ask('/v1/models/org/fake')).json()
    checkModel(one)
    expect(one).toMatchObject({ id: 'org/fake', type: 'model' })
    const response = await ask('/v1/models?limit=1000')
    expect(await response.json()).toMatchObject({ data: [one], has_more: false, first_id: 'org/fake' })
    expect(response.headers.get('request-id')).toMatch(/^req_/)
  })

  test('an unknown model has its envelope', async () => {
    const ask = await open()
    const response = await ask('/v1/models/nope')
    expect(response.status).toBe(404)
    expect(response.headers.get('request-id')).toMatch(/^req_/)
    expect(await response.json()).toMatchObject({ type: 'error', error: { type: 'not_found_error' } })
  })
})

test("other protocols' replies lack Anthropic's header", async () => {
  const ask = await open()
  const { max_tokens: _, ...chat } = body
  const response = await ask('/v1/chat/completions', chat)
  expect(response.headers.get('request-id')).toBeNull()
  expect(response.headers.get('x-request-id')).toMatch(/^req_/)
})
