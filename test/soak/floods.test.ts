import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../support/http/app.ts'
import { openChat } from '../support/http/raw-client.ts'
import { binaryFrame, frame, pingFrame, textFrame, upgradeRequest } from '../support/http/web-socket-frames.ts'
import { descriptorsOf, health, slowestHealth } from '../support/process/probe.ts'
import { createServeHome } from '../support/process/serve-process.ts'
import { soakLength } from '../support/process/soak-length.ts'
import { loadFactor, mostHealthMs } from '../support/process/stall-bound.ts'

const pieceMs = 100
const tiny = soakLength(250_000)
const requests = soakLength(60_000)
const creates = soakLength(20_000)

const home = await createServeHome(
  'off',
  {},
  { models: [{ id: 'm', engine: 'fake', script: 'from-request', aliases: ['default'], slots: 16 }] },
)
const server = await home.start()
beforeAll(() => health(server))
afterAll(home.remove)

function open(options: { readonly allowHalfOpen?: boolean } = {}): Socket {
  const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1', ...options })
  return socket.on('error', () => undefined)
}

/** Sends all of it at once. Resolves when a text has come so many times, or when the connection is closed. */
async function flood(bytes: string | Buffer, wanted: string, count = 1): Promise<void> {
  const socket = open()
  let found = 0
  let end = ''
  socket.setEncoding('latin1').on('data', (piece: string) => {
    const text = end + piece
    found += text.split(wanted).length - 1
    end = text.slice(1 - wanted.length)
  })
  socket.write(bytes)
  while (found < count && !socket.destroyed) await pause(20)
  socket.destroy()
  expect(found).toBeGreaterThanOrEqual(count)
}

/** The longest time between two pieces of a stream that runs beside some work. */
async function longestGap(work: () => Promise<unknown>): Promise<number> {
  const content = JSON.stringify({ chunks: Array(10_000).fill('word '), delayMs: pieceMs })
  const stream = openChat(server.url, { model: 'm', stream: true, messages: [{ role: 'user', content }] })
  let lastMs = performance.now()
  let gapMs = 0
  const see = () => {
    gapMs = Math.max(gapMs, performance.now() - lastMs)
    lastMs = performance.now()
  }
  const head = await stream.head
  await stream.untilContent()
  lastMs = performance.now()
  head.on('data', see)
  await work()
  see()
  stream.hangUp()
  return gapMs
}

const get = (path: string, headers = 'host: localhost\r\n') => `GET ${path} HTTP/1.1\r\n${headers}\r\n`
const post = (body: string) =>
  `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
const create = (index: number, more: object = {}) =>
  JSON.stringify({ type: 'response.create', model: 'm', input: `x${index}`, store: false, ...more })
const say = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x' }] })

/** Frames that come right after the handshake; the last one is answered when all before it are. */
const onSocket = (count: number, make: (index: number) => Buffer) =>
  Buffer.concat([
    Buffer.from(upgradeRequest()),
    ...Array.from({ length: count }, (_, index) => make(index)),
    frame('', binaryFrame),
  ])
/** The code of the close frame: 1008. */
const tooMany = '\u0003\u00f0'
const inBytes = (path: string, type: string) => {
  const head = `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`
  return flood(`${head}${'1\r\n \r\n'.repeat(4 * tiny)}0\r\n\r\n`, 'x-request-id')
}
const pipelined = (count: number, text: string) => flood(text.repeat(count), 'x-request-id', count)

const floods: readonly (readonly [string, () => Promise<void>])[] = [
  [
    'messages of one letter',
    () =>
      flood(
        onSocket(tiny, () => frame('x')),
        'messages in a row',
      ),
  ],
  [
    'messages without a letter',
    () =>
      flood(
        onSocket(tiny, () => frame('')),
        'messages in a row',
      ),
  ],
  [
    'requests for models that are not there',
    () =>
      flood(
        onSocket(creates, (at) => frame(create(at, { model: 'q' }))),
        'is binary',
      ),
  ],
  [
    'more responses than may wait',
    () =>
      flood(
        onSocket(creates, (at) => frame(create(at))),
        'is binary',
      ),
  ],
  [
    'responses in lanes of their own',
    () =>
      flood(
        onSocket(creates, (at) => frame(create(at, { stream_id: `l${at}` }))),
        'is binary',
      ),
  ],
  [
    'pings',
    () =>
      flood(
        onSocket(tiny, () => frame('', pingFrame)),
        'is binary',
      ),
  ],
  [
    'pieces of one message',
    () =>
      flood(
        onSocket(tiny, (at) => frame('x', at === 0 ? textFrame : 0, false)),
        tooMany,
      ),
  ],
  ['a body in pieces of one byte', () => inBytes('/v1/chat/completions', 'application/json')],
  ['a form in pieces of one byte', () => inBytes('/v1/audio/transcriptions', 'multipart/form-data; boundary=b')],
  ['pipelined requests for a public route', () => pipelined(requests, get('/health'))],
  ['pipelined requests for the models', () => pipelined(requests, get('/v1/models'))],
  ['pipelined requests for nothing', () => pipelined(requests / 2, get('/x'))],
  ['pipelined requests with a bad path', () => pipelined(requests / 2, get('/%zz'))],
  ['pipelined requests without a host', () => pipelined(requests, get('/', ''))],
  ['pipelined requests with an empty body', () => pipelined(creates, post('{}'))],
  ['pipelined requests that are answered', () => pipelined(creates / 4, post(say))],
]

test.each(floods)('%s hold up nobody', { timeout: 300_000 }, async (name, work) => {
  const usualMs = await longestGap(() => pause(2000))
  let slowestMs = 0
  const gapMs = await longestGap(async () => {
    slowestMs = await slowestHealth(server, work)
  })
  if (process.env.SHOW_STALLS !== undefined)
    console.log(`${name}: health ${slowestMs.toFixed(0)} ms, gap ${gapMs.toFixed(0)} ms, usually ${usualMs.toFixed(0)} ms`)
  expect(slowestMs).toBeLessThan(mostHealthMs())
  expect(gapMs).toBeLessThan(3 * usualMs * loadFactor())
  expect(server.hasEnded()).toBe(false)
})

test('ten seconds later, nothing is held of those who were refused, are slow, half-open, or gone', {
  timeout: 120_000,
}, async () => {
  const before = descriptorsOf(server.pid)
  const many = (count: number, begin: (socket: Socket) => void) =>
    Array.from({ length: soakLength(count) }, () => {
      const socket = open({ allowHalfOpen: true })
      begin(socket)
      return socket
    })
  const stay = [
    // Refused: a foreign origin, no route, and none that is a WebSocket.
    ...many(400, (socket) => socket.write(upgradeRequest(['origin: https://evil.example']))),
    ...many(400, (socket) => socket.write(upgradeRequest().replace('/v1/responses', '/v1/nothing'))),
    ...many(200, (socket) => socket.write(upgradeRequest().replace('13', '7'))),
    // Slow: the end of the head never comes, or comes letter by letter.
    ...many(300, (socket) => socket.write(upgradeRequest().slice(0, -4))),
    ...many(100, (socket) => {
      const timer = setInterval(() => socket.write('x'), 1000)
      socket.once('close', () => clearInterval(timer))
      socket.write(upgradeRequest().slice(0, -4))
    }),
    ...many(300, () => undefined),
    // Half-open: the client's side is closed before, in or after the handshake.
    ...many(100, (socket) => socket.end()),
    ...many(100, (socket) => socket.end(upgradeRequest().slice(0, -4))),
    ...many(100, (socket) => socket.end(upgradeRequest())),
  ]
  const idle = many(2000, (socket) => socket.write(upgradeRequest()))
  await until(() => descriptorsOf(server.pid) >= before + idle.length)
  await Promise.all(
    idle.map((socket) => (socket.readableLength > 0 ? undefined : new Promise((resolve) => socket.once('readable', resolve)))),
  )
  for (const socket of idle) socket.destroy()
  for (const socket of stay) socket.resume()
  await until(() => descriptorsOf(server.pid) <= before + 5, 10_000)
  expect(stay.some((socket) => !socket.destroyed)).toBe(true)
  for (const socket of stay) socket.destroy()
})
