import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { until } from '../../../../test/support/http/app.ts'
import {
  chatBody,
  openTestServer,
  openWatchedServer,
  readAll,
  readUntil,
  receive,
  sendChat,
  watchEngine,
} from '../../../../test/support/http/test-server.ts'
import type { ApiKey, Scope } from '../../../contract/principal.ts'
import { createFakeEngine } from '../../../engine/fake/engine.ts'

const path = '/api/inference/cancel'
const endless = { raw: 'late', delayMs: 3_600_000 }

async function cancel(port: number, body: unknown, headers: Record<string, string> = {}): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body: JSON.stringify(body), headers })
  return response.json()
}

/** A key whose text is its name. */
function key(name: string, ...scopes: readonly Scope[]): ApiKey {
  return {
    name,
    hash: createHash('sha256').update(name).digest('hex'),
    scopes: new Set<Scope>(['public', 'inference', ...scopes]),
  }
}

describe('the body of a cancel', () => {
  test.each([
    ['is missing', undefined, undefined],
    ['is not JSON', '{"cancel_id"', 'application/json'],
    ['is no object', '["c"]', 'application/json'],
    ['has no usable key', '{"cancel_id":"","session_id":5}', 'application/json'],
    ['has a key that exists twice', '{"cancel_id":"c","cancel_id":"d"}', 'application/json'],
    ['has no content type that exists', '{}', 'nonsense'],
    ['is not UTF-8', Buffer.from([0xff, 0xfe]), 'application/octet-stream'],
  ])('C3, C4: cancels nothing when it %s', async (_what, payload, type) => {
    const { app, deps } = openTestServer()
    const run = deps.cancellations.open({ id: 'a', owner: 'anyone', sessionId: 's' })
    const headers = type === undefined ? {} : { 'content-type': type }
    const { statusCode, body } = await app.inject({
      method: 'POST',
      url: path,
      headers,
      ...(payload !== undefined && { payload }),
    })
    expect([statusCode, JSON.parse(body)]).toEqual([200, { cancelled: 0 }])
    expect(run.signal.aborted).toBe(false)
  })

  test('is also read when a page that is being closed sends it as text', async () => {
    const { app, deps } = openTestServer()
    deps.cancellations.open({ id: 'a', owner: 'anyone', cancelId: 'c' })
    const headers = { 'content-type': 'text/plain;charset=UTF-8' }
    const { body } = await app.inject({ method: 'POST', url: path, headers, payload: '{"cancel_id":"c"}' })
    expect(JSON.parse(body)).toEqual({ cancelled: 1 })
  })

  test('is logged at debug when it cannot be read, without its text', async () => {
    const { app, logLines } = openTestServer()
    await app.inject({ method: 'POST', url: path, payload: '{"secret', headers: { 'content-type': 'application/json' } })
    const line = logLines.map((text) => JSON.parse(text)).find(({ msg }) => /counts as none/.test(msg))
    expect(line).toMatchObject({ level: 20, code: 'invalid-json' })
    expect(logLines.join()).not.toContain('secret')
  })
})

describe('the route', () => {
  test('C1: is not below /v1, and takes POST only', async () => {
    const { app } = openTestServer()
    const status = async (method: 'GET' | 'POST', url: string) => (await app.inject({ method, url })).statusCode
    expect(await status('POST', '/v1/cancel')).toBe(404)
    expect(await status('POST', '/v1/api/inference/cancel')).toBe(404)
    expect(await status('POST', '/v1/inference/cancel')).toBe(404)
    expect(await status('GET', path)).toBe(405)
  })

  test('C1: needs a key, and cancels the runs of that key only', async () => {
    const apiKeys = [key('alice'), key('bob'), key('root', 'admin')]
    const { port, deps } = await openWatchedServer({ auth: { apiKeys } })
    const run = deps.cancellations.open({ id: 'a', owner: 'alice', sessionId: 's' })
    const as = (name: string) => cancel(port, { session_id: 's' }, { authorization: `Bearer ${name}` })
    expect(await cancel(port, { session_id: 's' })).toMatchObject({ error: { code: 'invalid_api_key' } })
    expect(await as('bob')).toEqual({ cancelled: 0 })
    expect(run.signal.aborted).toBe(false)
    expect(await as('root')).toEqual({ cancelled: 1 })
    expect(await as('alice')).toEqual({ cancelled: 0 })
  })
})

describe('a run is found', () => {
  test.each([
    ['its cancel id', { cancel_id: 'c' }, {}, { cancel_id: 'c' }],
    ['its session', { session_id: 's' }, {}, { session_id: 's' }],
    ['the header of its cancel id', {}, { 'x-dragoman-cancel-id': 'c' }, { cancel_id: 'c' }],
    ['the header of its session', {}, { 'x-dragoman-session-id': 's' }, { session_id: 's' }],
    ['the session of its agent', {}, { 'x-claude-code-session-id': 'agent' }, { session_id: 'agent' }],
  ])('by %s', async (_what, fields, headers, body) => {
    const { port, watched } = await openWatchedServer()
    const request = sendChat(port, chatBody(endless, fields), { headers })
    await watched.started()
    expect(await cancel(port, body)).toEqual({ cancelled: 1 })
    expect(await watched.ended()).toEqual({ aborted: true })
    expect((await receive(request)).statusCode).toBe(200)
  })

  test('C10: by the id in its stream', async () => {
    const { port } = await openWatchedServer()
    const response = await receive(sendChat(port, chatBody({ raw: 'a b c d e', delayMs: 200 }, { stream: true })))
    const id = /"id":"([^"]+)"/.exec(await readUntil(response, '"id"'))?.[1]
    expect(await cancel(port, { completion_id: id })).toEqual({ cancelled: 1 })
    expect(await readAll(response)).toContain('[DONE]')
  })
})

test('C12: a run that waits for a slot is cancelled, and leaves the queue', async () => {
  const { port, watched, scheduler } = await openWatchedServer({ slots: 1 })
  const running = sendChat(port, chatBody(endless, { cancel_id: 'first' }))
  await watched.started()
  const waiting = sendChat(port, chatBody(endless, { cancel_id: 'second' }))
  await until(() => scheduler.load.queued === 1)
  expect(await cancel(port, { cancel_id: 'second' })).toEqual({ cancelled: 1 })
  const { choices } = JSON.parse(await readAll(await receive(waiting)))
  expect(choices).toMatchObject([{ message: { content: '' }, finish_reason: 'length' }])
  expect(scheduler.load).toMatchObject({ busy: 1, queued: 0 })
  await cancel(port, { cancel_id: 'first' })
  await receive(running)
})

test('C17, C23: a run that was cancelled before it came asks nothing of the engine', async () => {
  const fake = createFakeEngine({ script: 'from-request' })
  let asked = 0
  const engine = watchEngine({
    ...fake,
    ensureReady: (signal) => {
      asked += 1
      return fake.ensureReady(signal)
    },
  }).engine
  const { port } = await openWatchedServer({ engine })
  expect(await cancel(port, { cancel_id: 'c' })).toEqual({ cancelled: 0 })
  const text = await readAll(await receive(sendChat(port, chatBody('hi', { cancel_id: 'c', stream: true }))))
  expect(text).toMatch(/"role":"assistant".*"finish_reason":"length".*\[DONE\]/s)
  expect(asked).toBe(0)
})

test.each([true, false])(
  'C23: a run that was cancelled before it came is answered as cancelled, also where the queue is full (stream: %s)',
  async (stream) => {
    const { port, watched } = await openWatchedServer({ slots: 1, maxQueued: 0 })
    const running = sendChat(port, chatBody(endless, { cancel_id: 'first' }))
    await watched.started()
    await cancel(port, { cancel_id: 'early' })
    const reply = await receive(sendChat(port, chatBody('hi', { cancel_id: 'early', stream })))
    expect(reply.statusCode).toBe(200)
    expect(await readAll(reply)).toContain('"finish_reason":"length"')
    expect((await receive(sendChat(port, chatBody('hi')))).statusCode).toBe(429)
    await cancel(port, { cancel_id: 'first' })
    await receive(running)
  },
)

test.each([true, false])('the log has one line about each run that was stopped (stream: %s)', async (stream) => {
  const { port, watched, logLines, deps, drain } = await openWatchedServer({ slots: 1 })
  const script = { chunks: Array(5000).fill('a '), delayMs: 20 }
  const begin = async (keys: object = {}) => {
    const request = sendChat(port, chatBody(script, { ...keys, stream }))
    await watched.started()
    if (stream) await receive(request)
    return request
  }
  const gone = await begin()
  gone.destroy()
  const cancelled = await begin({ cancel_id: 'c' })
  const waiting = sendChat(port, chatBody(script, { stream }))
  await until(() => deps.cancellations.size === 2)
  waiting.destroy()
  await cancel(port, { cancel_id: 'c' })
  await until(() => deps.cancellations.size === 0)
  cancelled.destroy()
  await begin()
  await drain(0)
  const lines = logLines.map((line) => JSON.parse(line)).filter(({ msg }) => /request stopped|failed/.test(msg))
  expect(lines).toMatchObject([
    { msg: 'request stopped', reason: 'client-gone' },
    { msg: 'request stopped', reason: 'client-gone' },
    { msg: 'request stopped', reason: 'requested', by: 'anyone' },
    { msg: 'request stopped', reason: 'shutting-down' },
  ])
})

test('the log says who stopped a run, when, and how soon it ended', async () => {
  const { port, watched, logLines, deps } = await openWatchedServer()
  const request = sendChat(port, chatBody(endless, { cancel_id: 'c' }))
  await watched.started()
  await cancel(port, { cancel_id: 'c' })
  await readAll(await receive(request))
  const gone = sendChat(port, chatBody(endless))
  await watched.started()
  gone.destroy()
  await until(() => deps.cancellations.size === 0)
  const stops = logLines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request stopped')
  const common = { key: 'anyone', model: 'org/fake', afterMs: expect.any(Number), endedMs: expect.any(Number) }
  expect(stops).toMatchObject([
    { ...common, reason: 'requested', by: 'anyone', cancelId: 'c' },
    { ...common, reason: 'client-gone' },
  ])
  expect(await deps.metrics.render()).toContain('dragoman_cancellations_total{reason="requested"} 1')
})
