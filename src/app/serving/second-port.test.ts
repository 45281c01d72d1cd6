import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startApp } from '../../../test/support/http/app.ts'
import { listenToo } from './second-port.ts'

/** A port that nothing listens on now. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

test('a server answers on both of its ports, and closes both', async () => {
  const ollamaPort = await freePort()
  const app = await startApp({ models: [{ engine: 'fake', id: 'echo', script: 'from-request' }], server: { ollamaPort } })
  const second = `http://127.0.0.1:${ollamaPort}`
  for (const url of [app.url, second]) expect((await fetch(`${url}/api/version`)).status).toBe(200)
  const streamed = await fetch(`${second}/api/chat`, {
    method: 'POST',
    body: JSON.stringify({ model: 'echo', messages: [{ role: 'user', content: 'a b' }] }),
  })
  expect((await streamed.text()).trimEnd().split('\n').length).toBeGreaterThan(1)
  await app.close()
  await expect(fetch(`${second}/api/version`)).rejects.toThrow()
})

test('a port that is taken is an error with the setting that chose it', async () => {
  const server = createServer()
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const taken = listenToo(createServer(), { host: '127.0.0.1', port, setting: 'server.ollamaPort' })
  await expect(taken).rejects.toThrow(/is in use.*server\.ollamaPort/)
})

test('half a request does not keep the port open', async () => {
  const ollamaPort = await freePort()
  const app = await startApp({ models: [{ engine: 'fake', id: 'echo', script: 'from-request' }], server: { ollamaPort } })
  const socket = connect(ollamaPort, '127.0.0.1')
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.on('error', () => undefined)
  await new Promise((resolve) => socket.write('POST /api/chat HTTP/1.1\r\nhost: localhost\r\n', resolve))
  await app.close()
  await closed
})
