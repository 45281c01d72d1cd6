import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { chatBody, openTestServer } from '../../../test/support/http/test-server.ts'

test('a request that could be upgraded to HTTP/2 is served without', async () => {
  const port = await openTestServer().listen()
  const body = chatBody('one two')
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    'host: localhost',
    'content-type: application/json',
    `content-length: ${body.length}`,
    'connection: Upgrade, HTTP2-Settings',
    'upgrade: h2c',
    'http2-settings: AAMAAABkAAQCAAAAAAIAAAAA',
  ].join('\r\n')
  const socket = connect(port, '127.0.0.1')
  // In two pieces, so that the body comes after the upgrade.
  socket.write(`${head}\r\n\r\n${body.slice(0, 10)}`)
  socket.write(body.slice(10))
  let text = ''
  socket.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
  })
  while (!text.includes('one two')) await once(socket, 'data')
  expect(text).toMatch(/^HTTP\/1\.1 200 OK/)
  // The connection is kept for the next request.
  text = ''
  socket.write('GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n')
  await once(socket, 'close')
  expect(text).toMatch(/^HTTP\/1\.1 200 OK/)
})

const upgrade = (more: readonly string[] = []) =>
  [
    'GET /v1/responses HTTP/1.1',
    'host: localhost',
    'connection: upgrade',
    'upgrade: websocket',
    'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
    'sec-websocket-version: 13',
    ...more,
    '',
    '',
  ].join('\r\n')

/** What a client gets that keeps its own side open, until the connection is closed. */
async function replyTo(port: number, text: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.write(text)
  let reply = ''
  socket.setEncoding('utf8').on('data', (piece: string) => {
    reply += piece
  })
  await once(socket, 'end')
  return reply
}

test('a refused upgrade is closed, also when its client keeps its side open', async () => {
  const { app, listen } = openTestServer({ auth: { apiKeys: [{ hash: '0'.repeat(64), scopes: new Set(['inference']) }] } })
  const closed: Promise<unknown>[] = []
  app.server.on('connection', (socket) => closed.push(once(socket, 'close')))
  const port = await listen()
  expect(await replyTo(port, upgrade())).toMatch(/^HTTP\/1\.1 401 /)
  expect(await replyTo(port, upgrade(['origin: https://evil.example']))).toMatch(/^HTTP\/1\.1 403 /)
  expect(await replyTo(port, upgrade().replace('/v1/responses', '/v1/nothing'))).toMatch(/^HTTP\/1\.1 404 /)
  await Promise.all(closed)
  expect(closed).toHaveLength(3)
})

test.each([
  ['content-length: 5', 'hello'],
  ['transfer-encoding: chunked', '5\r\nhello\r\n0\r\n\r\n'],
])('a request for a WebSocket with a body is refused: %s', async (header, body) => {
  const port = await openTestServer().listen()
  expect(await replyTo(port, upgrade([header]) + body)).toMatch(/^HTTP\/1\.1 400 .*has no body/s)
  const socket = connect(port, '127.0.0.1')
  socket.write(upgrade(['content-length: 0']))
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 101 /)
  socket.destroy()
})
