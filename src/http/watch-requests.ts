import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../contract/errors.ts'
import { encodeOpenaiError } from '../dialect/openai/errors.ts'
import type { ConnectionStage, InFlightRequests } from './in-flight-requests.ts'
import { factFields } from './reply/generation-facts.ts'
import { upgradedStatus } from './responses/upgrades.ts'
import type { Watching } from './run/deps.ts'

/** The recorded status when the client disconnects before the reply is complete, as in nginx. */
const clientClosedStatus = 499

/** Counts and logs every request once, at its end, with the status that was sent. */
export function createRequestWatch({ metrics, log, now }: Watching, inFlight: InFlightRequests) {
  /** The status sent on connections whose request did not arrive completely. */
  const refused = new WeakMap<Socket, number>()

  /** Called once per request, when its headers have arrived. */
  function watch(request: FastifyRequest, reply: FastifyReply): void {
    const startedMs = now()
    const { url: route = 'unmatched', config } = request.routeOptions
    metrics.requestStarted()
    const { raw } = reply
    inFlight.enter(raw)
    const { socket } = request.raw
    let status = clientClosedStatus
    raw.once('finish', () => {
      // Node emits `finish` even when the last bytes could not be written.
      if (!socket.destroyed && !socket.errored) status = raw.statusCode
    })
    raw.once('close', () => {
      // A WebSocket lasts as long as its request.
      status = raw.statusCode === upgradedStatus ? upgradedStatus : (refused.get(socket) ?? status)
      metrics.requestEnded(route, status)
      request.bodyShare?.close()
      inFlight.leave(raw)
      const isQuiet = config.scope === 'public' || (config.isPolled === true && (status < 400 || status === clientClosedStatus))
      const level = isQuiet ? 'debug' : 'info'
      if (!log.isLevelEnabled(level)) return
      request.log[level](
        {
          requestId: request.id,
          method: request.method,
          // The path of an unknown route has no pattern to identify it.
          ...(route === 'unmatched' ? { path: request.originalUrl.split('?', 1)[0]?.slice(0, 200) } : { route }),
          status,
          durationMs: Math.round(now() - startedMs),
          ...(request.principal !== undefined && { key: request.principal.id }),
          ...(request.generation !== undefined && factFields(request.generation)),
        },
        'request ended',
      )
    })
  }

  /** Handles input that Node could not parse or that arrived too late; `watch` may have seen its headers. */
  function refuse(error: Error, socket: Socket): void {
    const stage = inFlight.stageOf(socket)
    const status = answerClientError(error, socket, stage)
    if (status === undefined) return
    if (stage === 'receiving') {
      refused.set(socket, status)
      return
    }
    metrics.requestStarted()
    metrics.requestEnded('unmatched', status)
    log.info({ status }, 'invalid HTTP request')
  }

  return { watch, refuse }
}

type Problem = { readonly status: number; readonly text: string }

const malformed: Problem = { status: 400, text: 'the request is not valid HTTP' }
/** Node's failures with codes of their own; no other layer sees them. */
const problems: ReadonlyMap<unknown, Problem> = new Map([
  ['ERR_HTTP_REQUEST_TIMEOUT', { status: 408, text: 'the request took too long to arrive' }],
  ['HPE_HEADER_OVERFLOW', { status: 431, text: 'the headers of the request are larger than this server accepts' }],
])

/**
 * Replies to input that is not HTTP or does not arrive in time, and returns the status; `undefined` without a reply: a connection that is
 * sending one can only be closed.
 */
function answerClientError(thrown: Error, socket: Socket, stage: ConnectionStage): number | undefined {
  if (!socket.writable || stage === 'replying') {
    socket.destroy()
    return undefined
  }
  const code = 'code' in thrown ? thrown.code : 'unknown'
  const { status, text } = problems.get(code) ?? malformed
  const error = new AppError('invalid-request', `${text} (${code})`, { cause: thrown })
  const body = JSON.stringify(encodeOpenaiError(error).body)
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json; charset=utf-8\r\n`
  // A client that keeps its side open would hold the connection forever.
  socket.end(`${head}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`, () => socket.destroy())
  return status
}
