import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { chatBody, openTestServer } from '../../test/support/test-server.ts'

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
