import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import { Agent } from 'undici'
import { afterEach, describe, expect, test } from 'vitest'
import { iterate } from '../../../../test/support/http/iterate.ts'
import { listenOnLoopback } from '../../../../test/support/upstream/loopback.ts'
import { type HttpReply, httpExchange, ReplyBody } from './http-exchange.ts'

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

type Upstream = { readonly origin: string; readonly server: Server; readonly reply: Promise<ServerResponse> }

/** A server that leaves its replies to the test. */
/** All bytes of a body. */
async function wholeOf(body: ReplyBody): Promise<Buffer> {
  const pieces: Buffer[] = []
  await body.consume((bytes) => void pieces.push(bytes))
  return Buffer.concat(pieces)
}

async function upstream(): Promise<Upstream> {
  let onReply: (response: ServerResponse) => void = () => undefined
  const reply = new Promise<ServerResponse>((resolve) => {
    onReply = resolve
  })
  const { origin, server, close } = await listenOnLoopback((_, response) => onReply(response))
  open.push(close)
  return { origin, server, reply }
}

function agentOf(options: Agent.Options = {}): Agent {
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, ...options })
  open.push(() => agent.destroy())
  return agent
}

function ask(agent: Agent, { origin }: Upstream, signal = new AbortController().signal): Promise<HttpReply> {
  return httpExchange(agent, { origin, path: '/', method: 'POST', headers: {}, body: '{}' }, signal)
}

async function read(reply: HttpReply): Promise<string> {
  return (await wholeOf(reply.body)).toString('utf8')
}

/** The bytes of a reply, as they arrive. */
function piecesOf(body: ReplyBody) {
  return iterate<Buffer>((emit) => body.consume(emit))
}

describe('httpExchange', () => {
  test('httpExchange resolves when the reply begins, and delivers its bytes as they arrive', async () => {
    const server = await upstream()
    const asked = ask(agentOf(), server)
    const response = await server.reply
    response.writeProcessing()
    response.writeHead(201, { 'X-Kind': 'slow' })
    response.write('one')
    const reply = await asked
    expect(reply).toMatchObject({ status: 201, headers: { 'x-kind': 'slow' } })
    const pieces = piecesOf(reply.body)
    expect(String((await pieces.next()).value)).toBe('one')
    const next = pieces.next()
    response.write('two')
    expect(String((await next).value)).toBe('two')
    response.end()
    expect((await pieces.next()).done).toBe(true)
  })

  test('a reply that breaks off rejects after its last bytes', async () => {
    const server = await upstream()
    const asked = ask(agentOf(), server)
    const response = await server.reply
    response.write('half')
    const { body } = await asked
    response.destroy()
    await once(response, 'close')
    const pieces = piecesOf(body)
    expect(String((await pieces.next()).value)).toBe('half')
    await expect(pieces.next()).rejects.toMatchObject({
      failure: { type: 'truncated' },
      message: expect.stringContaining('broke'),
    })
  })

  test('an unread reply puts back-pressure on its server', async () => {
    const server = await upstream()
    const asked = ask(agentOf(), server)
    const response = await server.reply
    const piece = Buffer.alloc(1 << 20, 'x')
    let sent = 0
    const fill = () => {
      while (sent < 64 && !response.writableNeedDrain) {
        response.write(piece)
        sent += 1
      }
      if (sent < 64) response.once('drain', fill)
      else response.end()
    }
    fill()
    const { body } = await asked
    await expect.poll(() => response.writableNeedDrain).toBe(true)
    const stuckAt = sent
    expect(stuckAt).toBeLessThan(64)
    expect((await wholeOf(body)).length).toBe(64 << 20)
    expect(sent).toBe(64)
  })

  test.each(['headers', 'body'])('a signal ends the wait for the %s with its reason, and closes the connection', async (what) => {
    const server = await upstream()
    const controller = new AbortController()
    const asked = ask(agentOf(), server, controller.signal)
    const response = await server.reply
    if (what === 'body') response.write('x')
    const waiting = what === 'headers' ? asked : asked.then(({ body }) => wholeOf(body))
    if (what === 'body') await asked
    const reason = new Error('gone')
    const isClosed = once(response, 'close')
    controller.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    await isClosed
  })

  test.each(['aborts', 'leaves', 'throws'])(
    'a reader that %s while it takes bytes gets nothing more, and closes the connection',
    async (how) => {
      const server = await upstream()
      const controller = new AbortController()
      const asked = ask(agentOf(), server, controller.signal)
      const response = await server.reply
      const isClosed = once(response, 'close')
      response.write('one')
      const { body } = await asked
      let taken = 0
      const reason = new Error('enough')
      const ended = body.consume(() => {
        taken += 1
        if (how === 'aborts') controller.abort(reason)
        else if (how === 'leaves') body.leave()
        else throw reason
        return undefined
      })
      if (how === 'leaves') await ended
      else await expect(ended).rejects.toBe(reason)
      response.write('two')
      await isClosed
      expect(taken).toBe(1)
    },
  )

  test('a signal ends a wait for a connection', async () => {
    const server = await upstream()
    const agent = agentOf({ connections: 1 })
    void ask(agent, server).catch(() => undefined)
    await server.reply
    const controller = new AbortController()
    const second = ask(agent, server, controller.signal)
    controller.abort(new Error('gone'))
    await expect(second).rejects.toThrow('gone')
    await expect(ask(agent, server, controller.signal)).rejects.toThrow('gone')
  })

  test('events that arrive after the cancel are counted, those that a slow reader had not read are not', async () => {
    const controller = new AbortController()
    const body = new ReplyBody(controller.signal, () => undefined)
    body.onBytes(Buffer.from('data: 1\n\n'))
    const seen: string[] = []
    const ended = body.consume((bytes) => {
      seen.push(String(bytes))
      // The reader is busy from here on.
      return new Promise(() => undefined)
    })
    body.onBytes(Buffer.from('data: 2\n\ndata: 3\n\n'))
    expect(seen).toEqual(['data: 1\n\n'])
    expect(body.lateEvents).toBe(0)
    controller.abort(new Error('gone'))
    body.onBytes(Buffer.from('data: "data: 4"\n\n'))
    expect(body.lateEvents).toBe(1)
    await expect(ended).rejects.toThrow('gone')
  })

  test('a reply that is left closes its connection; one that has ended returns it', async () => {
    const server = await upstream()
    const agent = agentOf({ connections: 1 })
    const asked = ask(agent, server)
    const response = await server.reply
    response.write('x')
    const isClosed = once(response, 'close')
    const { body } = await asked
    body.leave()
    await isClosed

    const other = await upstream()
    let connections = 0
    other.server.on('connection', () => {
      connections += 1
    })
    const begun = ask(agent, other)
    const late = await other.reply
    late.write('all')
    const reply = await begun
    const pieces = piecesOf(reply.body)
    await pieces.next()
    reply.body.drain()
    late.end('the rest')
    await once(late, 'close')
    other.server.removeAllListeners('request')
    other.server.on('request', (_, again) => again.end('again'))
    expect(await read(await ask(agent, other))).toBe('again')
    expect(connections).toBe(1)
  })
})
