import { type IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type WebSocket, WebSocketServer } from 'ws'
import { AppError } from '../../contract/errors.ts'

/** For Node's HTTP server, which consults this since some version of Node 24: requests to upgrade to anything else are plain ones. */
export const upgradeOptions = { shouldUpgradeCallback: isWebSocket }

/** How long a client may take to answer a close frame. The types of ws omit it. */
const closing = { closeTimeout: 1000 }

/** The status of a connection that became a WebSocket. */
export const upgradedStatus = 101

type Pending = { readonly socket: Duplex; readonly head: Buffer }

/**
 * The WebSockets of a server. A request to upgrade passes all hooks like any other request; its route then accepts it. Requests to upgrade
 * to something else, such as HTTP/2, are served without an upgrade.
 */
export class Upgrades {
  readonly #server: WebSocketServer
  readonly #pending = new WeakMap<IncomingMessage, Pending>()

  constructor(app: FastifyInstance, { maxMessageBytes }: { readonly maxMessageBytes: number }) {
    this.#server = new WebSocketServer({
      noServer: true,
      maxPayload: maxMessageBytes,
      // Compression would cost memory for each socket, and a small message could become a large one.
      perMessageDeflate: false,
      // Answering each ping automatically would have no bound.
      autoPong: false,
      ...closing,
    })
    app.server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      const response = openReply(request, socket)
      if (response === undefined) {
        socket.destroy()
        return
      }
      // Only older versions of Node, which do not consult the callback.
      if (!isWebSocket(request)) {
        response.detachSocket(socket)
        readAsPlainRequest(app.server, request, { socket, head })
        return
      }
      socket.on('error', destroy)
      this.#pending.set(request, { socket, head })
      // Only refusals are written to it. A client that keeps its side open would hold the connection forever.
      response.once('finish', () => socket.destroySoon())
      app.routing(request, response)
    })
  }

  /** Whether a request asks for a WebSocket. */
  has(request: FastifyRequest): boolean {
    return this.#pending.has(request.raw)
  }

  /** Upgrades a request. Its reply is no longer used, but closes with the socket. Throws `invalid-request`. */
  accept(request: FastifyRequest, reply: FastifyReply, onOpen: (socket: WebSocket) => void): void {
    const pending = this.#pending.get(request.raw)
    if (pending === undefined) throw new Error('the request does not ask for a WebSocket')
    refuseBody(request.raw)
    reply.hijack()
    const { socket, head } = pending
    this.#server.handleUpgrade(request.raw, socket, head, (upgraded) => {
      socket.off('error', destroy)
      reply.raw.statusCode = upgradedStatus
      onOpen(upgraded)
    })
  }
}

/** Undefined while an earlier reply has the socket: a client may send requests without waiting for replies. */
function openReply(request: IncomingMessage, socket: Socket): ServerResponse | undefined {
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  try {
    response.assignSocket(socket)
    return response
  } catch {
    // Node offers no other way to find out.
    return undefined
  }
}

/** Bytes after the head would be read as messages; a proxy may have read them as a body. */
function refuseBody({ headers }: IncomingMessage): void {
  if (Number(headers['content-length'] ?? 0) === 0 && headers['transfer-encoding'] === undefined) return
  throw new AppError('invalid-request', 'a request for a WebSocket has no body: send it without')
}

function isWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket'
}

function destroy(this: Duplex): void {
  this.destroy()
}

/** Headers about the upgrade only. */
const upgradeHeaders = new Set(['upgrade', 'http2-settings', 'connection'])

/**
 * Serves a request as if it did not ask for an upgrade, which servers may ignore: clients that can do without, such as Java's and curl's,
 * ask for HTTP/2 in this way. Node has taken the socket from its HTTP server by then, and gives it back with the original request.
 */
function readAsPlainRequest(
  server: Server,
  { method, url, httpVersion, rawHeaders }: IncomingMessage,
  { socket, head }: { readonly socket: Duplex; readonly head: Buffer },
): void {
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (!upgradeHeaders.has(name.toLowerCase())) lines.push(`${name}: ${rawHeaders[index + 1]}`)
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]))
  server.emit('connection', socket)
}
