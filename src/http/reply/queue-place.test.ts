import { fastify } from 'fastify'
import { expect, test } from 'vitest'
import { chatBody, openWatchedServer, readAll, readUntil, receive, sendChat } from '../../../test/support/http/test-server.ts'
import { reportPlace } from './queue-place.ts'

const hourMs = 3_600_000
const stream = (script: unknown) => chatBody(script, { stream: true })

/** A model with one slot, which a request holds. */
async function openBusy(options: { readonly heartbeatMs?: () => number } = {}) {
  const server = await openWatchedServer({ slots: 1, ...options })
  const holder = sendChat(server.port, chatBody({ raw: 'late', delayMs: hourMs }))
  await server.watched.started()
  return { ...server, holder }
}

async function queuedAre(server: Awaited<ReturnType<typeof openBusy>>, count: number): Promise<void> {
  while (server.scheduler.load.queued < count) await new Promise((resolve) => setImmediate(resolve))
}

test('a request that had to wait has its first place and estimated wait in its headers, whole or streamed', async () => {
  const server = await openBusy()
  const whole = receive(sendChat(server.port, chatBody('one')))
  await queuedAre(server, 1)
  const streamed = receive(sendChat(server.port, stream('two')))
  await queuedAre(server, 2)
  server.holder.destroy()
  const replies = await Promise.all([whole, streamed])
  expect(replies.map(({ statusCode }) => statusCode)).toEqual([200, 200])
  expect(replies.map(({ headers }) => headers['x-dragoman-queue-position'])).toEqual(['1', '2'])
  for (const { headers } of replies) expect(headers['x-dragoman-estimated-wait-ms']).toMatch(/^\d+$/)
  await Promise.all(replies.map(readAll))
})

test('of several waits of one request, its headers have the first', async () => {
  const app = fastify()
  app.decorateRequest('queuePlace', undefined)
  app.get('/', async (request, reply) => {
    const report = reportPlace(request, reply)
    report(() => ({ position: 2, estimatedWaitMs: 200 }))
    report(() => ({ position: 1, estimatedWaitMs: 100 }))
    return {}
  })
  const { headers } = await app.inject('/')
  expect([headers['x-dragoman-queue-position'], headers['x-dragoman-estimated-wait-ms']]).toEqual(['2', '200'])
})

test('a request that had not to wait has no such headers', async () => {
  const server = await openWatchedServer()
  const reply = await receive(sendChat(server.port, chatBody('one')))
  expect(Object.keys(reply.headers).filter((name) => name.includes('queue') || name.includes('wait'))).toEqual([])
  await readAll(reply)
})

test('heartbeats of a stream that waits say where, in a comment beside what its protocol sends', async () => {
  const server = await openBusy({ heartbeatMs: () => 20 })
  const chat = await receive(sendChat(server.port, stream('one')))
  expect(await readUntil(chat, '\n\n')).toMatch(/^: queue-position=1 estimated-wait-ms=\d+\n: \n\n/)
  const messages = JSON.stringify({ model: 'default', max_tokens: 9, stream: true, messages: [{ role: 'user', content: 'hi' }] })
  const other = await receive(sendChat(server.port, messages, { path: '/v1/messages' }))
  expect(await readUntil(other, '\n\n')).toMatch(
    /^: queue-position=2 estimated-wait-ms=\d+\nevent: ping\ndata: \{"type": "ping"\}\n\n/,
  )
  server.holder.destroy()
  await Promise.all([readAll(chat), readAll(other)])
})
