import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { fastify } from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { createLog } from '../log/log.ts'
import { listen } from './listen.ts'

const host = '127.0.0.1'

async function taken(port: number): Promise<Server> {
  const server = createServer().listen(port, host)
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return server
}

function open(address: { readonly port: number; readonly portFallback: boolean }) {
  const lines: string[] = []
  const app = fastify()
  onTestFinished(() => app.close())
  const log = createLog({ level: 'info', destination: { write: (line: string) => void lines.push(line) } })
  return { url: listen(app, { host, ...address }, log), lines }
}

const portOf = (server: Server) => (server.address() as AddressInfo).port

test('a port that is in use stops the start', async () => {
  const port = portOf(await taken(0))
  await expect(open({ port, portFallback: false }).url).rejects.toThrow(`port ${port} on ${host} is in use`)
})

test('with a fallback, the next free port is used, and the log says so', async () => {
  const port = portOf(await taken(0))
  const { url, lines } = open({ port, portFallback: true })
  const instead = Number(new URL(await url).port)
  expect(instead).toBeGreaterThan(port)
  expect(JSON.parse(lines.join(''))).toMatchObject({ port, instead, msg: expect.stringContaining('in use') })
})

test('a free port is used without a word, and an address that is not there is an error at once', async () => {
  const { url, lines } = open({ port: 0, portFallback: true })
  expect([Number(new URL(await url).port) > 0, lines]).toEqual([true, []])
  const app = fastify()
  const log = createLog({ level: 'silent' })
  // Reserved for documentation, so no machine has it.
  await expect(listen(app, { host: '192.0.2.1', port: 0, portFallback: true }, log)).rejects.toThrow('not an address')
})
