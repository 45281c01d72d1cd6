import { randomUUID } from 'node:crypto'
import { Server as Listener } from 'node:net'
import { type FastifyBaseLogger, type FastifyInstance, fastify, LogController } from 'fastify'
import type { Dialect } from '../contract/dialect.ts'
import { AppError } from '../contract/errors.ts'
import type { Principal, Scope } from '../contract/principal.ts'
import { authorize, createAuthenticator } from './auth.ts'
import { createCrossOrigin, preflightHeaders } from './cross-origin.ts'
import type { ServerDeps } from './deps.ts'
import { type EncodeError, sendError } from './error-reply.ts'
import { createHostCheck } from './hosts.ts'
import { InFlightRequests } from './in-flight-requests.ts'
import { parseJsonBody } from './json-body.ts'
import { watchRoutes } from './route-guard.ts'
import { addModelRoutes } from './routes-model.ts'
import { addOpenaiRoutes, createOpenaiDialects } from './routes-openai.ts'
import { addOpsRoutes } from './routes-ops.ts'
import { addPresetRoutes } from './routes-presets.ts'
import { addTemplateRoutes } from './routes-templates.ts'
import { addTokenRoutes } from './routes-tokens.ts'
import { createDialectHandler } from './serve-dialect.ts'
import { dropStalledReader } from './stalled-reader.ts'
import { createRequestWatch } from './watch-requests.ts'

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
    /** Who sent the request; absent on public routes. */
    principal: Principal | undefined
  }
  interface FastifyInstance {
    /** The protocols that are spoken here. */
    readonly dialects: readonly Dialect[]
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
  const running = new InFlightRequests()
  const { watch, refuse } = createRequestWatch(deps, running)
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
      // Node would refuse it without a word; here it is refused as all else is.
      requireHostHeader: false,
    },
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, maxParamLength: 1000 },
    clientErrorHandler: refuse,
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
  app.decorateRequest('principal', undefined)
  const openai = createOpenaiDialects(deps)
  app.decorate('dialects', [openai.chat, openai.completions, ...(deps.dialects ?? []).map(({ dialect }) => dialect)])
  // What every request passes before anything of its body is read.
  app.addHook('onRequest', (request, reply, done) => {
    watch(request, reply)
    reply.header('x-request-id', request.id)
    reply.headers(crossOrigin.replyHeaders(request.headers))
    if (draining) {
      reply.header('connection', 'close')
      throw new AppError('shutting-down', 'the server is shutting down; try again elsewhere or later')
    }
    const { host } = request.headers
    if (host === undefined && request.raw.httpVersion === '1.1') {
      throw new AppError('invalid-request', "the request has no 'host' header, which HTTP/1.1 demands")
    }
    checkHost(host)
    if (crossOrigin.isPreflight(request.method, request.headers)) {
      reply.code(204).headers(preflightHeaders).send()
      return
    }
    crossOrigin.check(request.method, request.headers)
    const { scope } = request.routeOptions.config
    if (request.is404 || scope === undefined) {
      throw new AppError('route-not-found', `there is no ${request.method} ${request.url.split('?', 1)[0]} here`)
    }
    if (scope !== 'public') {
      request.principal = authenticate(request.headers)
      authorize(request.principal, scope)
    }
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
  addOpenaiRoutes(app, deps, openai)
  for (const { path, dialect } of deps.dialects ?? []) {
    const config = { scope: 'inference', encodeError: dialect.encodeError } as const
    app.post(path, { config }, createDialectHandler(deps, dialect))
  }
  addModelRoutes(app, deps)
  addPresetRoutes(app, deps)
  addTemplateRoutes(app, deps)
  addTokenRoutes(app, deps)
  addOpsRoutes(app, deps)
  refuseOtherMethods()

  async function drain(graceMs: number): Promise<void> {
    draining = true
    // Not yet the HTTP server: it takes a reply for sent that has only been written, and closes its connection.
    Listener.prototype.close.call(app.server)
    running.cutIncomplete()
    if (!(await running.idleWithin(graceMs))) {
      metrics.requestsCancelled('shutting-down', cancellations.cancelWhere({}, 'shutting-down'))
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
