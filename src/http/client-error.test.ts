import { once } from 'node:events'
import { connect } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { describe, expect, test } from 'vitest'
import { chatBody, halfRequest, openTestServer, readAll, receive, sendChat } from '../../test/support/http/test-server.ts'

describe('input that is not HTTP', () => {
  async function exchange(port: number, ...parts: readonly string[]): Promise<string> {
    const socket = connect(port, '127.0.0.1').setEncoding('utf8')
    socket.on('error', () => undefined)
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    const closed = once(socket, 'close')
    for (const part of parts.slice(0, -1)) {
      socket.write(part)
      await once(socket, 'data')
    }
    socket.write(parts.at(-1) ?? '')
    await closed
    return text
  }
  async function counted(app: FastifyInstance): Promise<readonly string[]> {
    const { body } = await app.inject('/metrics')
    const counts = [...body.matchAll(/^dragoman_http_requests_total(.*)$/gm)].map(([, count]) => count ?? '')
    return counts.filter((count) => !count.includes('/metrics'))
  }
  const health = 'GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n'

  test('is answered also after an earlier reply on the connection', async () => {
    const text = await exchange(await openTestServer().listen(), health, 'NONSENSE\r\n\r\n')
    expect(text).toMatch(/^HTTP\/1\.1 200 OK.*HTTP\/1\.1 400 Bad Request.*the request is not valid HTTP/s)
  })

  test('does not write into a reply in progress', async () => {
    const { listen } = openTestServer()
    const body = chatBody({ chunks: ['a'], delayMs: 3_000_000 })
    const head = 'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n'
    const text = await exchange(await listen(), `${head}content-length: ${body.length}\r\n\r\n${body}NONSENSE\r\n\r\n`)
    expect(text).toBe('')
  })

  test('too large headers have their own status', async () => {
    const { app, listen } = openTestServer()
    const text = await exchange(await listen(), `GET /health HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`)
    expect(text).toMatch(/^HTTP\/1\.1 431 Request Header Fields Too Large\r\n.*headers/s)
    await expect.poll(() => counted(app)).toEqual(['{route="unmatched",status="431"} 1'])
  })

  test('HTTP/1.1 without a host is refused; older versions need none', async () => {
    const { app, listen } = openTestServer()
    const port = await listen()
    const text = await exchange(port, 'GET /health HTTP/1.1\r\nconnection: close\r\n\r\n')
    expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request.*"error":.*'host'/s)
    expect(await exchange(port, 'GET /health HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 OK/)
    const [first, second] = ['{route="/health",status="400"} 1', '{route="/health",status="200"} 1']
    await expect.poll(() => counted(app)).toEqual([first, second])
  })

  test('a second request that does not arrive in time is answered', async () => {
    const { app, listen } = openTestServer({ requestTimeoutMs: 1000 })
    const text = await exchange(await listen(), health, halfRequest)
    expect(text).toMatch(/^HTTP\/1\.1 200 OK.*HTTP\/1\.1 408 Request Timeout/s)
    const [first, second] = ['{route="/health",status="200"} 1', '{route="/v1/chat/completions",status="408"} 1']
    await expect.poll(() => counted(app)).toEqual([first, second])
  })
})

describe('a request that does not arrive in time', () => {
  test('is answered, and its connection is closed even if the client keeps its side open', async () => {
    const { app, listen } = openTestServer({ requestTimeoutMs: 100 })
    const arrived = once(app.server, 'connection')
    const socket = connect({ port: await listen(), host: '127.0.0.1', allowHalfOpen: true }).setEncoding('utf8')
    socket.write(halfRequest)
    const [accepted] = await arrived
    const serverSideClosed = Promise.all([once(accepted, 'close'), once(socket, 'end')])
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    await serverSideClosed
    expect(text).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n.*the request took too long to arrive/s)
    socket.destroy()
  })

  test('is independent of the duration of its reply', async () => {
    const { listen } = openTestServer({ requestTimeoutMs: 1000 })
    const port = await listen()
    const body = chatBody({ chunks: ['a', 'b', 'c'], delayMs: 500 }, { stream: true })
    expect(await readAll(await receive(sendChat(port, body)))).toContain('[DONE]')
  })
})
