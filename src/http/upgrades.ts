import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type WebSocket, WebSocketServer } from 'ws'
import { readAsPlainRequest } from './plain-request.ts'
import { upgradedStatus } from './watch-requests.ts'

/** For Node's HTTP server, which asks since some version of Node 24: requests to upgrade to something else are plain ones. */
export const upgradeOptions = { shouldUpgradeCallback: isWebSocket }

type Pending = { readonly socket: Duplex; readonly head: Buffer }

/**
 * The WebSockets of a server. A request to upgrade passes all hooks like any other request; its route then accepts it. Requests to upgrade
 * to something else, such as HTTP/2, are served without.
 */
export class Upgrades {
  readonly #server: WebSocketServer
  readonly #pending = new WeakMap<IncomingMessage, Pending>()

  constructor(app: FastifyInstance, { maxMessageBytes }: { readonly maxMessageBytes: number }) {
    // Compression would cost memory for each socket, and a small message could become a large one.
    this.#server = new WebSocketServer({ noServer: true, maxPayload: maxMessageBytes, perMessageDeflate: false })
    app.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      // Only in older versions of Node, which do not ask.
      if (!isWebSocket(request)) {
        readAsPlainRequest(app.server, request, { socket, head })
        return
      }
      socket.on('error', destroy)
      this.#pending.set(request, { socket, head })
      const response = new ServerResponse(request)
      response.shouldKeepAlive = false
      response.assignSocket(socket as Parameters<typeof response.assignSocket>[0])
      // Only refusals are written with it.
      response.once('finish', () => socket.end())
      app.routing(request, response)
    })
  }

  /** Whether a request asks for a WebSocket. */
  has(request: FastifyRequest): boolean {
    return this.#pending.has(request.raw)
  }

  /** Upgrades a request. Its reply is not used any more, but is closed with the socket. */
  accept(request: FastifyRequest, reply: FastifyReply, onOpen: (socket: WebSocket) => void): void {
    const pending = this.#pending.get(request.raw)
    if (pending === undefined) throw new Error('the request does not ask for a WebSocket')
    reply.hijack()
    const { socket, head } = pending
    this.#server.handleUpgrade(request.raw, socket, head, (upgraded) => {
      socket.off('error', destroy)
      reply.raw.statusCode = upgradedStatus
      onOpen(upgraded)
    })
  }
}

function isWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket'
}

function destroy(this: Duplex): void {
  this.destroy()
}
