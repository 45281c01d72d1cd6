import { describe, expect, test } from 'vitest'
import { openResponsesServer, textOfResponse, type WireResponse } from '../../../test/support/http/responses-server.ts'
import { createFakeEngine } from '../../engine/fake/engine.ts'

const user = (content: string) => ({ role: 'user', content })
const assistant = (content: string) => ({ role: 'assistant', content })
const words = (count: number) => Array.from({ length: count }, (_, index) => `w${index}`).join(' ')

describe('a conversation that the context has no room for', () => {
  const engine = () => createFakeEngine({ script: 'from-request', contextLength: 50 })
  const input = [user(words(20)), assistant(words(20)), user(words(15)), assistant('yes'), user('last')]

  test('is refused with the sizes, as a rule', async () => {
    const { call } = await openResponsesServer({ engine: engine() })
    const { status, body } = await call('POST', '/v1/responses', { model: 'default', input })
    expect([status, body]).toMatchObject([400, { error: { code: 'context_length_exceeded' } }])
  })

  test('loses its oldest turns with truncation: auto, and the header names them', async () => {
    const { call, seen, scheduler } = await openResponsesServer({ engine: engine() })
    const reply = await call('POST', '/v1/responses', { model: 'default', input, truncation: 'auto' })
    expect(reply.status).toBe(200)
    expect(reply.headers['x-dragoman-dropped']).toBe('input[0]')
    expect(seen.at(-1)).toEqual([`assistant: ${words(20)}`, `user: ${words(15)}`, 'assistant: yes', 'user: last'])
    expect(scheduler.load).toMatchObject({ busy: 0, queued: 0 })
  })

  test('loses turns until there is a quarter of the context for an output that asks for more than all', async () => {
    const { call, seen } = await openResponsesServer({ engine: engine() })
    const long = [user(words(25)), assistant(words(15)), user('last')]
    const body = { model: 'default', input: long, max_output_tokens: 32_000, truncation: 'auto' }
    const reply = await call('POST', '/v1/responses', body)
    expect([reply.status, reply.headers['x-dragoman-dropped']]).toEqual([200, 'input[0]'])
    expect(reply.headers['x-dragoman-shortened']).toMatch(/^max_output_tokens;asked=32000;room=\d\d$/)
    expect(seen.at(-1)).toEqual([`assistant: ${words(15)}`, 'user: last'])
    const alone = await call('POST', '/v1/responses', { ...body, input: words(45) })
    expect([alone.status, alone.headers['x-dragoman-shortened']]).toEqual([200, expect.stringMatching(/;room=\d$/)])
  })

  test('is one generation in the metrics, however often it was shortened', async () => {
    const { call, deps } = await openResponsesServer({ engine: engine() })
    await call('POST', '/v1/responses', { model: 'default', input: [...input, ...input], truncation: 'auto' })
    const counts = (await deps.metrics.render()).match(/^dragoman_generation_duration_seconds_count\{.*$/gm)
    expect(counts).toEqual([expect.stringMatching(/outcome="ok".* 1$/)])
  })

  test('is refused all the same when its last turn is too long', async () => {
    const { call } = await openResponsesServer({ engine: engine() })
    const { status } = await call('POST', '/v1/responses', { model: 'default', input: words(80), truncation: 'auto' })
    expect(status).toBe(400)
  })
})

describe('the tokens of an input', () => {
  test('are counted with what the request refers to', async () => {
    const { create, call } = await openResponsesServer()
    const { id } = await create({ input: 'one two three' })
    const count = async (more: object) => {
      const { body } = await call('POST', '/v1/responses/input_tokens', { model: 'default', input: 'four', ...more })
      return (body as { input_tokens: number }).input_tokens
    }
    expect(await count({ previous_response_id: id })).toBeGreaterThan(await count({}))
  })
})

describe('the input of a response', () => {
  test('is listed with all that came before, in pages', async () => {
    const { create, call } = await openResponsesServer()
    const first = await create({ input: 'one' })
    const { id } = await create({ input: 'two', previous_response_id: first.id })
    const { body } = await call('GET', `/v1/responses/${id}/input_items?order=asc`)
    expect(body).toMatchObject({
      object: 'list',
      has_more: false,
      data: [{ role: 'user' }, { role: 'assistant' }, { role: 'user' }],
    })
    expect((await call('GET', `/v1/responses/${id}/input_items?limit=1`)).body).toMatchObject({ has_more: true })
    for (const query of ['limit=0', 'limit=x', 'order=up']) {
      expect((await call('GET', `/v1/responses/${id}/input_items?${query}`)).status).toBe(400)
    }
    expect((await call('GET', '/v1/responses/resp_none/input_items')).status).toBe(404)
  })
})

/** The fake engine repeats the last message: the instruction is its summary. */
describe('a compaction', () => {
  test('names its model, and has something to summarise', async () => {
    const { call } = await openResponsesServer()
    const [nameless, empty] = await Promise.all([
      call('POST', '/v1/responses/compact', { input: 'hi' }),
      call('POST', '/v1/responses/compact', { model: 'default' }),
    ])
    expect([nameless, empty]).toMatchObject([
      { status: 400, body: { error: { param: 'model' } } },
      { status: 400, body: { error: { param: 'input' } } },
    ])
  })

  const input = [user(words(60)), assistant(words(60)), user('last')]

  test('stands for the conversation in the next call', async () => {
    const { call, seen } = await openResponsesServer()
    const { status, body } = await call('POST', '/v1/responses/compact', { model: 'default', input })
    const { output } = body as WireResponse
    expect([status, body]).toMatchObject([200, { object: 'response.compaction', output: [{ type: 'compaction' }] }])
    await call('POST', '/v1/responses', { model: 'default', input: [...output, user('go on')] })
    expect(seen.at(-1)).toHaveLength(2)
    expect(seen.at(-1)?.[0]).toMatch(/Summarise the conversation/)
    expect(seen.at(-1)?.[1]).toBe('user: go on')
  })

  test('comes by itself above the threshold, is part of the reply and of its usage', async () => {
    const { create, seen } = await openResponsesServer()
    const context_management = [{ type: 'compaction', compact_threshold: 110 }]
    const long = (await create({ input, context_management })) as WireResponse & { usage: { input_tokens: number } }
    expect(long.output.map(({ type }) => type)).toEqual(['compaction', 'message'])
    expect(textOfResponse(long)).toBe('last')
    expect(seen.map((lines) => lines.length)).toEqual([4, 2])
    expect(long.usage.input_tokens).toBeGreaterThan(200)
    const next = await create({ input: 'next', previous_response_id: long.id, context_management })
    expect(next.output.map(({ type }) => type)).toEqual(['message'])
    expect(seen.at(-1)).toEqual([expect.stringContaining('Summarise'), 'assistant: last', 'user: next'])
  })

  test('is all that a response with a trigger makes', async () => {
    const { create } = await openResponsesServer()
    const response = await create({ input: [...input, { type: 'compaction_trigger' }] })
    expect([response.status, response.output.map(({ type }) => type)]).toEqual(['completed', ['compaction']])
  })

  test('fails with a status when the model writes none', async () => {
    const { call } = await openResponsesServer({ engine: createFakeEngine({ script: 'from-request', contextLength: 130 }) })
    const { status } = await call('POST', '/v1/responses/compact', { model: 'default', input })
    expect(status).toBe(400)
  })
})
