import type { IncomingMessage } from 'node:http'
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify'
import { withoutBasePath } from './base-path.ts'
import { sendError } from './reply/error-reply.ts'
import { pickRequestId } from './request-id.ts'
import { upgradeOptions } from './responses/upgrades.ts'
import { routedAs, type Surface } from './routes/mounts.ts'
import type { Listening, Watching } from './run/deps.ts'
import type { createRequestWatch } from './watch-requests.ts'

/** Longer than common clients' pools keep connections, so that clients close them, and we never close one under a request. */
const keepAliveTimeoutMs = 75_000
/**
 * The limit for receiving a request; it does not affect replies. It frees connections of clients that stop sending, and allows the
 * largest body at 2.3 Mbit/s.
 */
const defaultRequestTimeoutMs = 120_000
/** The limit for receiving the headers, which clients send in one piece. With the time between checks, a connection is free in 10 s. */
const headersTimeoutMs = 7000
/** How often Node checks for late requests. */
const requestCheckMs = 2000

/** Lets a request in when its turn on its connection has come: then it is watched. */
export type Enter = (request: FastifyRequest, reply: FastifyReply, go: () => void) => void

type Around = Pick<ReturnType<typeof createRequestWatch>, 'refuse'> & {
  readonly bodyLimitBytes: number
  /** Whether the program around this server has accepted the request, and taken its own base path off. */
  isAccepted(request: IncomingMessage): boolean
  readonly enter: Enter
}

/** Fastify with our limits, ids and failures; without hooks and routes. */
export function openFastify(
  { log, basePath = '', requestTimeoutMs = defaultRequestTimeoutMs }: Pick<Listening, 'basePath' | 'requestTimeoutMs'> & Watching,
  { bodyLimitBytes, isAccepted, enter, refuse }: Around,
): FastifyInstance {
  const app: FastifyInstance = fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    // No child logger per request; each line carries the request id.
    childLoggerFactory: (logger) => logger,
    genReqId: (request) => pickRequestId(request.headers['x-request-id']),
    bodyLimit: bodyLimitBytes,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    http: {
      ...upgradeOptions,
      noDelay: true,
      // Node ignores the request timeout when the headers timeout is longer.
      headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
      connectionsCheckingInterval: Math.min(requestCheckMs, requestTimeoutMs),
      // Node's refusal has no body; ours has an error envelope.
      requireHostHeader: false,
    },
    return503OnClosing: false,
    rewriteUrl: (request) => {
      const { url = '/' } = request
      const below = isAccepted(request) ? url : withoutBasePath(basePath, url)
      const { route, surface } = routedAs(below)
      // What asks later how the client wrote it asks for the part below.
      Object.assign(request, surface === undefined ? { originalUrl: below } : { originalUrl: below, surface })
      return route
    },
    routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, maxParamLength: 1000 },
    clientErrorHandler: refuse,
    frameworkErrors: (error, request, reply) => {
      // Such as a bad escape in the URL; no hook has run.
      enter(request, reply, () => {
        reply.header('x-request-id', request.id)
        sendError(error, request, reply)
      })
    },
  })
  app.decorateRequest('surface', {
    getter() {
      return (this.raw as { readonly surface?: Surface }).surface ?? this.routeOptions.config.surface
    },
  })
  app.decorateRequest('generation', undefined)
  app.decorateRequest('principal', undefined)
  app.decorateRequest('sender', undefined)
  app.decorateRequest('watch', undefined)
  app.decorateRequest('absentReply', undefined)
  app.decorateRequest('bodyShare', undefined)
  app.decorateRequest('exactBody', undefined)
  app.decorateRequest('queuePlace', undefined)
  app.decorateRequest('loadPlace', undefined)
  return app
}
