import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { unlessLong } from '../base/turn.ts'

/** So many requests may wait on one connection; then it is read no further until half of them are served. */
const mostWaiting = 64

/**
 * Serves the requests of each connection one after the other. A client may send thousands without waiting for replies, of which Node
 * hands over those of one read at once.
 */
export function createPipelines() {
  const waiting = new WeakMap<Socket, number>()

  function arrive(socket: Socket): void {
    const count = (waiting.get(socket) ?? 0) + 1
    waiting.set(socket, count)
    // After the rest of what was read: Node reads on at the end of each request.
    if (count % mostWaiting === 0) process.nextTick(() => void socket.pause())
  }

  function leave(socket: Socket): void {
    const count = (waiting.get(socket) ?? 0) - 1
    waiting.set(socket, count)
    if (count === mostWaiting / 2) socket.resume()
  }

  /** Calls `serve` when all requests before this one are answered; never, when the connection closes first. */
  return function inTurn({ socket }: IncomingMessage, response: ServerResponse, serve: () => void): void {
    // Node gives a reply its socket when the one before it has ended.
    if (response.socket !== null) {
      serve()
      return
    }
    arrive(socket)
    response.once('socket', async () => {
      leave(socket)
      await unlessLong()
      if (!response.destroyed) serve()
    })
  }
}
