import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../../test/support/http/app.ts'
import { chatBody, openTestServer, openWatchedServer } from '../../test/support/http/test-server.ts'

const late = JSON.stringify({ raw: 'late', delayMs: 3_600_000 })

function post(body: string): string {
  const head = 'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n'
  return `${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}
const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`

/** A connection that keeps what it is sent. */
function open(port: number): { readonly socket: Socket; text(): string } {
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  let text = ''
  socket.setEncoding('latin1').on('data', (piece: string) => {
    text += piece
  })
  socket.on('error', () => undefined)
  return { socket, text: () => text }
}

test('requests that come together are answered in their order', async () => {
  const { socket, text } = open(await openTestServer().listen())
  socket.write(post(chatBody('one')) + get('/nothing') + get('/%zz') + post(chatBody('two')) + get('/health'))
  await until(() => text().includes('"version"'))
  const bodies = [...text().matchAll(/"content":"(\w+)"|HTTP\/1\.1 (\d+)/g)].map(([, content, status]) => content ?? status)
  expect(bodies).toEqual(['200', 'one', '404', '400', '200', 'two', '200'])
})

test('the second of two requests runs when the first is answered, and never when its client leaves before', async () => {
  const { port, watched, deps } = await openWatchedServer()
  const { socket } = open(port)
  socket.write(post(chatBody(late)) + post(chatBody(late)))
  await watched.started()
  // It has arrived before this reply.
  await fetch(`http://127.0.0.1:${port}/health`)
  expect(deps.cancellations.size).toBe(1)
  socket.destroy()
  expect(await watched.ended()).toEqual({ aborted: true })
  await until(() => deps.cancellations.size === 0)
})

test('a client that sends thousands of requests is read no further while they wait, and gets all replies', async () => {
  const { app, listen } = openTestServer()
  const served: Socket[] = []
  app.server.on('connection', (socket) => served.push(socket))
  const port = await listen()
  const { socket, text } = open(port)
  const count = 4000
  const health = get('/health')
  socket.write(post(chatBody(late, { cancel_id: 'first' })) + health.repeat(count))
  // In each of these turns the server could read on.
  for (let turn = 0; turn < 20; turn++) await fetch(`http://127.0.0.1:${port}/health`)
  expect(served[0]?.bytesRead).toBeLessThan(0.7 * count * health.length)
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"cancel_id":"first"}' }
  await fetch(`http://127.0.0.1:${port}/api/inference/cancel`, init)
  await until(() => text().split('"version"').length - 1 === count)
})

test('a request to upgrade behind one that runs closes the connection, and nothing else', async () => {
  const { port, watched } = await openWatchedServer()
  // Newer versions of Node serve what is not a WebSocket as a plain request, in turn.
  const isPlain = Number(process.versions.node.split('.')[0]) >= 24
  for (const protocol of isPlain ? ['websocket'] : ['websocket', 'h2c']) {
    const { socket, text } = open(port)
    const upgrade = `GET /v1/responses HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: ${protocol}\r\n\r\n`
    socket.write(post(chatBody(late)) + upgrade)
    await once(socket, 'close')
    expect(text()).toBe('')
  }
  expect(await watched.ended()).toEqual({ aborted: true })
  expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200)
})
