import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { until } from '../../../test/support/http/app.ts'
import {
  eventsOf,
  openResponsesServer,
  openStream,
  textOfResponse,
  type WireResponse,
} from '../../../test/support/http/responses-server.ts'
import { openTestServer, readAll, readUntil } from '../../../test/support/http/test-server.ts'
import { soon } from '../../../test/support/process/stall-bound.ts'
import { createFakeEngine } from '../../engine/fake/engine.ts'

const hourMs = 3_600_000

function keyOf(name: string) {
  return { hash: createHash('sha256').update(name).digest('hex'), name, scopes: new Set(['inference'] as const) }
}

describe('a whole response', () => {
  test('is stored, and reads back as it was sent', async () => {
    const { create, call } = await openResponsesServer()
    const response = await create({ input: 'one two' })
    expect(response).toMatchObject({ id: expect.stringMatching(/^resp_/), object: 'response', status: 'completed', store: true })
    expect(textOfResponse(response)).toBe('one two')
    expect(await call('GET', `/v1/responses/${response.id}`)).toMatchObject({ status: 200, body: response })
  })

  test('has the headers of other protocols, and a log line with its facts', async () => {
    const { call, logLines } = await openResponsesServer()
    const { headers } = await call('POST', '/v1/responses', { model: 'default', input: 'hi', flavour: 1 })
    expect(headers).toMatchObject({ 'x-dragoman-ignored': 'flavour', 'server-timing': expect.stringContaining('queue;dur=') })
    const line = logLines.map((text) => JSON.parse(text)).find(({ msg }) => msg === 'request ended')
    expect(line).toMatchObject({ route: '/v1/responses', generationId: expect.stringMatching(/^resp_/), finishReason: 'stop' })
  })

  test("repeats the sampling that is in force: the request's, or the model's own", async () => {
    const engine = createFakeEngine({ script: 'from-request' })
    const sampling = { temperature: 0.6, topP: 0.9 }
    const { create } = await openResponsesServer({ engine: { ...engine, facts: { sampling } } })
    expect(await create({ input: 'hi' })).toMatchObject({ temperature: 0.6, top_p: 0.9, presence_penalty: 0 })
    expect(await create({ input: 'hi', temperature: 0 })).toMatchObject({ temperature: 0, top_p: 0.9 })
  })

  test('that fails is an error with a status', async () => {
    const { call } = await openResponsesServer()
    const input = JSON.stringify({ raw: 'a b c', failAfter: 2 })
    const { status, body } = await call('POST', '/v1/responses', { model: 'default', input })
    expect([status, body]).toMatchObject([500, { error: { code: 'engine_failed' } }])
  })

  test('is not there after it was deleted', async () => {
    const { create, call } = await openResponsesServer()
    const { id } = await create({ input: 'hi' })
    expect(await call('DELETE', `/v1/responses/${id}`)).toMatchObject({ status: 200, body: { id, deleted: true } })
    for (const method of ['GET', 'DELETE'] as const) {
      expect(await call(method, `/v1/responses/${id}`)).toMatchObject({
        status: 404,
        body: { error: { message: `Response with id '${id}' not found.`, type: 'invalid_request_error' } },
      })
    }
  })

  test('with store: false leaves nothing behind', async () => {
    const { create, call } = await openResponsesServer()
    const { id, store } = await create({ input: 'hi', store: false })
    expect([store, (await call('GET', `/v1/responses/${id}`)).status]).toEqual([false, 404])
  })

  test('that cannot be stored is answered all the same, and the log says so', async () => {
    const server = await openResponsesServer()
    server.store.responses.save = () => Promise.reject(new Error('the disk is full'))
    expect((await server.create({ input: 'hi' })).status).toBe('completed')
    expect(server.logLines.join('')).toContain('a response could not be stored')
  })
})

describe('a response that continues another', () => {
  test('sees the whole chain, without its instructions', async () => {
    const { create, seen } = await openResponsesServer()
    const first = await create({ input: 'one', instructions: 'be brief' })
    const second = await create({ input: 'two', previous_response_id: first.id })
    await create({ input: 'three', previous_response_id: second.id })
    expect(second.previous_response_id).toBe(first.id)
    expect(seen[0]?.[0]).toMatch(/: be brief$/)
    expect(seen[2]).toEqual(['user: one', 'assistant: one', 'user: two', 'assistant: two', 'user: three'])
  })

  test('may fork from any of them', async () => {
    const { create, seen } = await openResponsesServer()
    const { id } = await create({ input: 'one' })
    for (const input of ['left', 'right']) await create({ input, previous_response_id: id })
    expect(seen.slice(1)).toEqual([
      ['user: one', 'assistant: one', 'user: left'],
      ['user: one', 'assistant: one', 'user: right'],
    ])
  })

  test('is refused where one of the chain was deleted', async () => {
    const { create, call } = await openResponsesServer()
    const first = await create({ input: 'one' })
    const second = await create({ input: 'two', previous_response_id: first.id })
    await call('DELETE', `/v1/responses/${first.id}`)
    for (const id of [first.id, second.id]) {
      const reply = await call('POST', '/v1/responses', { model: 'default', input: 'x', previous_response_id: id })
      expect(reply).toMatchObject({
        status: 400,
        body: {
          error: {
            code: 'previous_response_not_found',
            param: 'previous_response_id',
            message: `Previous response with id '${id}' not found.`,
          },
        },
      })
    }
  })
})

describe('a streamed response', () => {
  test('can be continued as soon as its last event is seen', async () => {
    const { listen, create, seen } = await openResponsesServer()
    const { response } = await openStream(await listen(), { input: 'one two' })
    const text = await readUntil(response, 'event: response.completed')
    const events = eventsOf(text)
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index))
    expect(events[0]?.type).toBe('response.created')
    await create({ input: 'three', previous_response_id: events[0]?.response?.id })
    expect(seen[1]).toEqual(['user: one two', 'assistant: one two', 'user: three'])
    await readAll(response)
  })

  test('comes at once where streaming is off, also one that fails late', async () => {
    const { listen } = await openResponsesServer({ streaming: false, heartbeatMs: () => 10 })
    const port = await listen()
    const read = async (script: object) => {
      const { response } = await openStream(port, { input: JSON.stringify(script) })
      return [response.statusCode, eventsOf(await readAll(response)).at(-1)?.type]
    }
    expect(await read({ chunks: ['a ', 'b'], delayMs: 30 })).toEqual([200, 'response.completed'])
    expect(await read({ raw: 'a b c', failAfter: 2 })).toEqual([200, 'response.failed'])
  })

  test('fails with a status before its first token, and with an event after it', async () => {
    const { listen, call } = await openResponsesServer()
    const port = await listen()
    const early = await openStream(port, { input: JSON.stringify({ raw: 'a b c', failAfter: 0 }) })
    expect(early.response.statusCode).toBe(500)
    early.response.resume()
    const late = await openStream(port, { input: JSON.stringify({ raw: 'a b c', failAfter: 2 }) })
    const last = eventsOf(await readAll(late.response)).at(-1)
    expect(last).toMatchObject({ type: 'response.failed', response: { status: 'failed', error: { code: 'server_error' } } })
    expect((await call('GET', `/v1/responses/${last?.response?.id}`)).body).toMatchObject({ status: 'failed' })
  })

  test('is cancelled when its client leaves, and keeps what it said', async () => {
    const { listen, watched, call, deps } = await openResponsesServer()
    const input = JSON.stringify({ chunks: Array(1000).fill('word '), delayMs: 20 })
    const { request, response } = await openStream(await listen(), { input })
    const id = eventsOf(await readUntil(response, 'output_text.delta'))[0]?.response?.id
    const ended = await soon(() => {
      request.destroy()
      return watched.ended()
    })
    expect(ended).toEqual({ aborted: true })
    await until(async () => (await call('GET', `/v1/responses/${id}`)).status === 200)
    const stored = (await call('GET', `/v1/responses/${id}`)).body as WireResponse
    expect([stored.status, textOfResponse(stored)]).toEqual(['cancelled', expect.stringMatching(/^word /)])
    expect(deps.cancellations.size).toBe(0)
  })
})

describe('a background response', () => {
  test('is queued at once, goes on without its client, and reads as completed', async () => {
    const { create, call, logLines } = await openResponsesServer()
    const queued = await create({ input: JSON.stringify({ raw: 'one two', delayMs: 20 }), background: true })
    expect(queued).toMatchObject({ status: 'queued', background: true, output: [] })
    const read = async () => (await call('GET', `/v1/responses/${queued.id}`)).body as WireResponse
    await until(async () => (await read()).status === 'completed')
    expect(textOfResponse(await read())).toBe('one two')
    expect(logLines.join('')).toContain('background response ended')
  })

  test('is cancelled on request, as often as it is asked for, and keeps its output', async () => {
    const { create, call, watched, deps } = await openResponsesServer()
    const { id } = await create({ input: JSON.stringify({ raw: 'late', delayMs: hourMs }), background: true })
    await watched.started()
    const cancel = async () =>
      expect(await call('POST', `/v1/responses/${id}/cancel`)).toMatchObject({ status: 200, body: { id, status: 'cancelled' } })
    const ended = await soon(async () => {
      await cancel()
      return watched.ended()
    })
    expect(ended).toEqual({ aborted: true })
    await cancel()
    expect(deps.cancellations.size).toBe(0)
  })

  test('is the only kind that can be cancelled', async () => {
    const { create, call } = await openResponsesServer()
    const { id } = await create({ input: 'hi' })
    const { status, body } = await call('POST', `/v1/responses/${id}/cancel`)
    expect([status, body]).toMatchObject([400, { error: { message: expect.stringContaining('background: true') } }])
  })

  test('is gone when it is deleted while it runs', async () => {
    const { create, call, watched } = await openResponsesServer()
    const { id } = await create({ input: JSON.stringify({ raw: 'late', delayMs: hourMs }), background: true })
    await watched.started()
    const ended = await soon(async () => {
      expect((await call('DELETE', `/v1/responses/${id}`)).status).toBe(200)
      return watched.ended()
    })
    expect(ended).toEqual({ aborted: true })
    expect((await call('GET', `/v1/responses/${id}`)).status).toBe(404)
  })

  test('that fails before its first token says why', async () => {
    const { create, call } = await openResponsesServer()
    const { id } = await create({ input: JSON.stringify({ raw: 'a', failAfter: 0 }), background: true })
    const read = async () => (await call('GET', `/v1/responses/${id}`)).body as WireResponse
    await until(async () => (await read()).status === 'failed')
    expect((await read()).error).toMatchObject({ code: 'server_error' })
  })

  test('ends within the grace of a shutdown, or says that the server shut down', async () => {
    const { create, drain, store } = await openResponsesServer()
    const quick = await create({ input: JSON.stringify({ raw: 'one', delayMs: 50 }), background: true })
    const slow = await create({ input: JSON.stringify({ raw: 'late', delayMs: hourMs }), background: true })
    await drain(1000)
    expect((await store.responses.find('anyone', quick.id))?.status).toBe('completed')
    const stored = await store.responses.find('anyone', slow.id)
    expect(stored).toMatchObject({ status: 'failed', json: { error: { message: expect.stringContaining('shutting down') } } })
  })

  test('reads as failed when its process died', async () => {
    const { create, call, store } = await openResponsesServer()
    const { id } = await create({ input: 'hi' })
    const left = await store.responses.find('anyone', id)
    if (left === undefined) throw new Error('nothing was stored')
    const lost = { ...left, id: 'resp_lost', status: 'in_progress' as const, leaseUntilMs: Date.now() - 1 }
    await store.responses.save({ ...lost, json: { ...left.json, id: 'resp_lost', background: true, status: 'in_progress' } })
    const { body } = await call('GET', '/v1/responses/resp_lost')
    expect(body).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('ended before') } })
    expect((await call('POST', '/v1/responses/resp_lost/cancel')).body).toMatchObject({ status: 'failed' })
  })
})

describe('without a store', () => {
  const off = () => {
    const { app } = openTestServer()
    return async (body: object) => {
      const reply = await app.inject({
        method: 'POST',
        url: '/v1/responses',
        payload: { model: 'default', input: 'hi', ...body },
      })
      return { status: reply.statusCode, body: reply.json() }
    }
  }

  test('a response says that it is not stored', async () => {
    expect(await off()({})).toMatchObject({ status: 200, body: { status: 'completed', store: false } })
  })

  test.each([
    ['previous_response_id', { previous_response_id: 'resp_1' }],
    ['conversation', { conversation: 'conv_1' }],
    ['background', { background: true }],
    ['store', { store: true }],
    ['input', { input: [{ type: 'item_reference', id: 'msg_1' }] }],
  ])('%s is refused by name', async (param, body) => {
    const { status, body: reply } = await off()(body)
    expect([status, reply]).toMatchObject([
      400,
      { error: { param, message: expect.stringContaining('storage.database is off') } },
    ])
  })
})

describe('another key', () => {
  test('sees nothing of a response, and cannot continue, cancel or delete it', async () => {
    const auth = { apiKeys: [keyOf('alice'), keyOf('bob')] }
    const { create, call } = await openResponsesServer({ auth })
    const { id } = await create({ input: 'hi', background: true }, 'alice')
    const path = `/v1/responses/${id}`
    for (const [method, url] of [
      ['GET', path],
      ['GET', `${path}?stream=true`],
      ['DELETE', path],
      ['POST', `${path}/cancel`],
    ] as const) {
      expect((await call(method, url, undefined, 'bob')).status).toBe(404)
    }
    const next = await call('POST', '/v1/responses', { model: 'default', input: 'x', previous_response_id: id }, 'bob')
    expect(next).toMatchObject({ status: 400, body: { error: { code: 'previous_response_not_found' } } })
    expect((await call('GET', path, undefined, 'alice')).status).toBe(200)
  })
})
