import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { answerClientError } from './client-error.ts'
import type { ServerDeps } from './deps.ts'
import type { InFlightRequests } from './in-flight-requests.ts'

/** What is recorded of a reply that its client did not wait for; nginx's number. */
const clientLeftStatus = 499

/** Counts and logs every request once, when it has ended, with the status that its client was told. */
export function createRequestWatch(
  { metrics, log, now }: Pick<ServerDeps, 'metrics' | 'log' | 'now'>,
  running: InFlightRequests,
) {
  /** What connections were told whose request did not arrive whole. */
  const refused = new WeakMap<Socket, number>()

  /** Called once for each request, as soon as its headers are known. */
  function watch(request: FastifyRequest, reply: FastifyReply): void {
    const startedMs = now()
    const { url: route = 'unmatched', config } = request.routeOptions
    metrics.requestStarted()
    const { raw } = reply
    running.enter(raw)
    const { socket } = request.raw
    /**
     * A pipelined reply waits behind the one before it and has no socket yet: when the connection closes meanwhile, Node never
     * tells it, and its request would go on for ever. This tells it.
     */
    const onConnectionClose = () => {
      if (raw.socket !== null || raw.writableFinished) return
      raw.destroy()
      raw.emit('close')
    }
    socket.once('close', onConnectionClose)
    let status = clientLeftStatus
    raw.once('finish', () => {
      // Node says so as well when the last of it could not be written.
      if (!socket.destroyed && !socket.errored) status = raw.statusCode
    })
    raw.once('close', () => {
      socket.off('close', onConnectionClose)
      status = refused.get(socket) ?? status
      metrics.requestEnded(route, status)
      const level = config.scope === 'public' ? 'debug' : 'info'
      request.log[level](
        {
          requestId: request.id,
          method: request.method,
          route,
          status,
          durationMs: Math.round(now() - startedMs),
          ...request.generation,
        },
        'request ended',
      )
      running.leave(raw)
    })
  }

  /** Answers what Node could not read as a request, or not in time; `watch` may have seen the beginning of it, or nothing. */
  function refuse(error: Error, socket: Socket): void {
    const stage = running.stageOf(socket)
    const status = answerClientError(error, socket, stage)
    if (status === undefined) return
    if (stage === 'receiving') {
      refused.set(socket, status)
      return
    }
    metrics.requestStarted()
    metrics.requestEnded('unmatched', status)
    log.info({ status }, 'what came was no request')
  }

  return { watch, refuse }
}
