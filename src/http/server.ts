import { randomUUID } from 'node:crypto'
import { Server as Listener } from 'node:net'
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify'
import { AppError } from '../core/errors.ts'
import { authorize, createAuthenticator, type Scope } from './auth.ts'
import { onClientError } from './client-error.ts'
import { createCrossOrigin, preflightHeaders } from './cross-origin.ts'
import type { ServerDeps } from './deps.ts'
import { type EncodeError, sendError } from './error-reply.ts'
import { createHostCheck } from './hosts.ts'
import { parseJsonBody } from './json-body.ts'
import { watchRoutes } from './route-guard.ts'
import { addModelRoutes } from './routes-model.ts'
import { addOpenaiRoutes } from './routes-openai.ts'
import { addOpsRoutes } from './routes-ops.ts'
import { addPresetRoutes } from './routes-presets.ts'
import { addTemplateRoutes } from './routes-templates.ts'
import { addTokenRoutes } from './routes-tokens.ts'
import { RunningRequests } from './running-requests.ts'
import { dropStalledReader } from './stalled-reader.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the route asks of its caller. A route without it does not start. */
    scope?: Scope
    /** The route's error envelope; OpenAI's unless given. */
    encodeError?: EncodeError
  }
  interface FastifyRequest {
    /** What the request generates, for its last log line: the id is the one that the reply carries. */
    generation: { readonly generationId: string; readonly model?: string } | undefined
  }
}

/** Longer than the pools of common clients keep a connection, so that the client closes it and not we under its request. */
const keepAliveTimeoutMs = 75_000
/**
 * Only for receiving: it ends with the last byte of the body, so that it cuts no reply. A client that never sends the rest
 * does not hold a connection for ever, and the largest body still arrives at 2.3 Mbit/s.
 */
const defaultRequestTimeoutMs = 120_000
/** The part of it in which the headers must arrive; Node's own default. */
const headersTimeoutMs = 60_000
/** How often Node looks for requests that take too long to arrive. */
const requestCheckMs = 30_000
const defaultBodyLimitBytes = 32 * 1024 * 1024
/** What is recorded of a reply that its client did not wait for; nginx's number. */
const clientLeftStatus = 499
/** How long replies may take to end once their requests were cancelled. */
const cancelledGraceMs = 5000

export type Server = {
  /** Does not listen yet. */
  readonly app: FastifyInstance
  /**
   * Takes no more requests, cuts those that have not arrived whole, lets the running ones end for at most `graceMs`, then
   * cancels them. Resolves when every connection is closed.
   */
  drain(graceMs: number): Promise<void>
}

/** The whole HTTP surface. Throws when a route declares no scope. */
export function createServer(deps: ServerDeps): Server {
  const { log, metrics, cancellations } = deps
  const running = new RunningRequests()
  const requestTimeoutMs = deps.requestTimeoutMs ?? defaultRequestTimeoutMs
  let draining = false
  const app = fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    // Not one for each request: the line or two that are written of it name it themselves.
    childLoggerFactory: (logger) => logger,
    genReqId: (request) => pickRequestId(request.headers['x-request-id']),
    bodyLimit: deps.bodyLimitBytes ?? defaultBodyLimitBytes,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    http: {
      noDelay: true,
      // Node does not look at the time of the body when that of the headers is longer.
      headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
      connectionsCheckingInterval: Math.min(requestCheckMs, requestTimeoutMs),
    },
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, maxParamLength: 1000 },
    clientErrorHandler: (error, socket) => onClientError(error, socket, running.isAnswering(socket)),
    frameworkErrors: (error, request, reply) => {
      // Such as a URL with a bad escape: no hook has run.
      watch(request, reply)
      reply.header('x-request-id', request.id)
      sendError(error, request, reply)
    },
  })

  const checkHost = createHostCheck(deps.hosts)
  const crossOrigin = createCrossOrigin(deps.allowedOrigins ?? [])
  const authenticate = createAuthenticator(deps.auth.apiKeyHashes)
  app.decorateRequest('generation', undefined)
  // What every request passes before anything of its body is read.
  app.addHook('onRequest', (request, reply, done) => {
    watch(request, reply)
    reply.header('x-request-id', request.id)
    reply.headers(crossOrigin.replyHeaders(request.headers))
    if (draining) {
      reply.header('connection', 'close')
      throw new AppError('shutting-down', 'the server is shutting down; try again elsewhere or later')
    }
    checkHost(request.headers.host)
    if (crossOrigin.isPreflight(request.method, request.headers)) {
      reply.code(204).headers(preflightHeaders).send()
      return
    }
    crossOrigin.check(request.method, request.headers)
    const { scope } = request.routeOptions.config
    if (request.is404 || scope === undefined) {
      throw new AppError('route-not-found', `there is no ${request.method} ${request.url.split('?', 1)[0]} here`)
    }
    if (scope !== 'public') authorize(authenticate(request.headers), scope)
    done()
  })
  app.addHook('onSend', (_request, reply, payload, done) => {
    dropStalledReader(reply.raw, deps)
    done(null, payload)
  })
  app.setErrorHandler(sendError)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const encoding = request.headers['content-encoding'] ?? 'identity'
    if (encoding !== 'identity') {
      throw new AppError('unsupported-media-type', `the content encoding '${encoding}' is not supported; send the body as it is`)
    }
    // Clients say so of requests without a body too; a route that needs one says it.
    done(null, body.length === 0 ? undefined : parseJsonBody(body as Buffer))
  })

  const refuseOtherMethods = watchRoutes(app)
  addOpenaiRoutes(app, deps)
  addModelRoutes(app, deps)
  addPresetRoutes(app, deps)
  addTemplateRoutes(app, deps)
  addTokenRoutes(app, deps)
  addOpsRoutes(app, deps)
  refuseOtherMethods()

  function watch(request: FastifyRequest, reply: FastifyReply): void {
    const startedMs = deps.now()
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
      metrics.requestEnded(route, status)
      const level = config.scope === 'public' ? 'debug' : 'info'
      request.log[level](
        {
          requestId: request.id,
          method: request.method,
          route,
          status,
          durationMs: Math.round(deps.now() - startedMs),
          ...request.generation,
        },
        'request ended',
      )
      running.leave(raw)
    })
  }

  async function drain(graceMs: number): Promise<void> {
    draining = true
    // Not yet the HTTP server: it takes a reply for sent that has only been written, and closes its connection.
    Listener.prototype.close.call(app.server)
    running.cutIncomplete()
    if (!(await running.idleWithin(graceMs))) {
      metrics.requestsCancelled('shutting-down', cancellations.cancelAll('shutting-down'))
      await running.idleWithin(cancelledGraceMs)
    }
    // What is left are connections that wait for a next request, and readers that do not read.
    const closed = app.close()
    app.server.closeAllConnections()
    await closed
  }

  return { app, drain }
}

/** The caller's own id when it can be logged and sent back as it is; it names the HTTP request, never a generation. */
function pickRequestId(sent: string | string[] | undefined): string {
  return typeof sent === 'string' && /^[\x20-\x7e]{1,128}$/.test(sent) ? sent : `req_${randomUUID().replaceAll('-', '')}`
}
