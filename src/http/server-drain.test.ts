import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import {
  chatBody,
  halfRequest,
  largeText,
  oneText,
  openTestServer,
  readAll,
  receive,
  sendChat,
  watchEngine,
} from '../../test/support/http/test-server.ts'
import { createFakeEngine } from '../engine/fake/engine.ts'

describe('shutting down', () => {
  const longReply = { chunks: ['a', 'b'], delayMs: 3_000_000 }

  test('running requests may finish; meanwhile the listener is open, says so, and refuses the rest', async () => {
    const watched = watchEngine(createFakeEngine({ script: 'from-request' }))
    const { listen, drain } = openTestServer({ engine: watched.engine })
    const port = await listen()
    const replied = receive(sendChat(port, chatBody({ chunks: ['a', 'b'], delayMs: 200 }, { stream: true })))
    await watched.started()
    const drained = drain(60_000)
    const ask = (path: string) => fetch(`http://127.0.0.1:${port}${path}`)
    const ready = await ask('/ready')
    expect([ready.status, await ready.json()]).toMatchObject([503, { status: 'draining' }])
    expect((await ask('/health')).status).toBe(200)
    const refused = await ask('/v1/models')
    expect([refused.status, refused.headers.get('connection')]).toEqual([503, 'close'])
    expect(await readAll(await replied)).toContain('[DONE]')
    await drained
    const [error] = await once(connect(port, '127.0.0.1'), 'error')
    expect(error).toMatchObject({ code: 'ECONNREFUSED' })
  })

  test('running requests can be cancelled meanwhile, so that it does not wait for them', async () => {
    const watched = watchEngine(createFakeEngine({ script: 'from-request' }))
    const { listen, drain } = openTestServer({ engine: watched.engine })
    const port = await listen()
    const replied = receive(sendChat(port, chatBody(longReply, { cancel_id: 'c' })))
    await watched.started()
    const drained = drain(60_000)
    const cancel = await receive(sendChat(port, '{"cancel_id":"c"}', { path: '/api/inference/cancel' }))
    expect(JSON.parse(await readAll(cancel))).toEqual({ cancelled: 1 })
    expect((await replied).statusCode).toBe(200)
    await drained
  })

  test('a delay lets balancers look away first: requests are still served, and /ready says that it drains', async () => {
    const { listen, drain } = openTestServer()
    const port = await listen()
    const drained = drain(60_000, 1000)
    const ask = (path: string) => fetch(`http://127.0.0.1:${port}${path}`)
    expect((await ask('/ready')).status).toBe(503)
    expect((await ask('/v1/models')).status).toBe(200)
    await drained
  })

  test('a request on an open connection is refused with advice', async () => {
    const watched = watchEngine(createFakeEngine({ script: 'from-request' }))
    const { listen, drain } = openTestServer({ engine: watched.engine })
    const socket = connect(await listen(), '127.0.0.1').setEncoding('utf8')
    const body = chatBody({ chunks: ['a', 'b'], delayMs: 50 })
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
    socket.write(`${head}\r\n\r\n${body}`)
    await watched.started()
    const drained = drain(60_000)
    socket.write('GET /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n')
    let text = ''
    for await (const chunk of socket) text += chunk
    const [first, second] = text.split(/(?=HTTP\/1\.1 503)/)
    expect(first).toMatch(/^HTTP\/1\.1 200 OK/)
    expect(second?.toLowerCase()).toMatch(/connection: close.*shutting_down/s)
    await drained
  })

  test('requests still running after the grace period are cancelled with an error', async () => {
    const watched = watchEngine(createFakeEngine({ script: 'from-request' }))
    const { listen, drain, deps } = openTestServer({ engine: watched.engine })
    const request = sendChat(await listen(), chatBody(longReply))
    await watched.started()
    const drained = drain(1)
    const response = await receive(request)
    expect(response.statusCode).toBe(503)
    expect(JSON.parse(await readAll(response)).error.code).toBe('shutting_down')
    expect(await watched.ended()).toEqual({ aborted: true })
    await drained
    expect(await deps.metrics.render()).toContain('dragoman_cancellations_total{reason="shutting-down"} 1')
  })

  test('an ended reply that is not closed yet does not count as cancelled', async () => {
    const watched = watchEngine(createFakeEngine({ script: 'from-request' }))
    const { listen, drain, deps } = openTestServer({ engine: watched.engine })
    deps.cancellations.open({ id: 'stopped', owner: 'anyone' }).cancel('client-gone')
    const request = sendChat(await listen(), chatBody(longReply))
    await watched.started()
    await Promise.all([receive(request), drain(1)])
    expect(await deps.metrics.render()).toContain('dragoman_cancellations_total{reason="shutting-down"} 1')
  })

  test('a request with an incomplete body does not delay it', async () => {
    const { app, listen, drain, deps } = openTestServer()
    const arrived = once(app.server, 'request')
    const socket = connect(await listen(), '127.0.0.1').resume()
    const closed = once(socket, 'close')
    socket.on('error', () => undefined)
    socket.write(halfRequest)
    await arrived
    await drain(60_000)
    await closed
    expect(await deps.metrics.render()).toContain('{route="/v1/chat/completions",status="499"} 1')
  })

  test('a written reply is sent completely within the grace period', async () => {
    const { listen, drain } = openTestServer({ engine: oneText(largeText) })
    const response = await receive(sendChat(await listen(), chatBody('x')))
    response.pause()
    const drained = drain(60_000)
    expect((await readAll(response)).length).toBeGreaterThan(largeText.length)
    await drained
  })

  test('idle connections do not delay it', async () => {
    const { listen, drain } = openTestServer()
    const socket = connect(await listen(), '127.0.0.1').setEncoding('utf8')
    socket.write('GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n')
    await once(socket, 'data')
    const closed = once(socket, 'close')
    await drain(60_000)
    await closed
  })
})
