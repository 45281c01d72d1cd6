import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { unlessLong } from '../base/turn.ts'

/** The most requests that may wait on one connection; then reading pauses until half of them are served. */
const mostWaiting = 64

/**
 * Serves the requests of each connection one after the other. A client may send thousands without waiting for replies, and Node emits all
 * requests of one read together.
 */
export function createPipelines() {
  const waiting = new WeakMap<Socket, number>()

  function arrive(socket: Socket): void {
    const count = (waiting.get(socket) ?? 0) + 1
    waiting.set(socket, count)
    // After the rest of the read: Node resumes reading at the end of each request.
    if (count % mostWaiting === 0) process.nextTick(() => void socket.pause())
  }

  function leave(socket: Socket): void {
    const count = (waiting.get(socket) ?? 0) - 1
    waiting.set(socket, count)
    if (count === mostWaiting / 2) socket.resume()
  }

  /** Calls `serve` when all earlier requests are answered; never, if the connection closes first. */
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
