import type { IncomingMessage, ServerResponse } from 'node:http'
import { Server as Listener } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { type FastifyBaseLogger, type FastifyInstance, fastify, LogController } from 'fastify'
import { AppError } from '../contract/errors.ts'
import type { Principal } from '../contract/principal.ts'
import { createAnthropicMessages } from '../dialect/anthropic/dialect.ts'
import { ollamaDialects } from '../dialect/ollama/dialects.ts'
import { createResponsesService } from '../responses/service.ts'
import { type AccessRules, createAccess } from './access/access.ts'
import { authorize, readKeys } from './access/auth.ts'
import { preflightHeaders } from './access/cross-origin.ts'
import { readHosts, refuseHosts } from './access/hosts.ts'
import { watchRoutes } from './access/route-guard.ts'
import { createWrongKeyWatch } from './access/wrong-keys.ts'
import { withoutBasePath } from './base-path.ts'
import { BodyRoom } from './body/body-room.ts'
import { createBodyReader, orNoBody } from './body/read-body.ts'
import { addCapture } from './capture/capture.ts'
import { InFlightRequests } from './in-flight-requests.ts'
import { createPipelines } from './pipelined.ts'
import { otherType, sendError, shownTo } from './reply/error-reply.ts'
import { addLimitHeaders } from './reply/reply-headers.ts'
import { disconnectStalledReader } from './reply/stalled-reader.ts'
import { pickRequestId } from './request-id.ts'
import { ResponsesSockets } from './responses/responses-socket.ts'
import { Upgrades, upgradeOptions } from './responses/upgrades.ts'
import { addKoboldRoutes } from './routes/local-servers/routes-kobold.ts'
import { addLlamaServerRoutes } from './routes/local-servers/routes-llama-server.ts'
import { addMlcRoutes } from './routes/local-servers/routes-mlc.ts'
import { addOllamaRoutes } from './routes/local-servers/routes-ollama.ts'
import { addOtherLists } from './routes/local-servers/routes-other-lists.ts'
import { addPresetRoutes } from './routes/local-servers/routes-presets.ts'
import { addTabbyRoutes } from './routes/local-servers/routes-tabby.ts'
import { addUnslothRoutes } from './routes/local-servers/routes-unsloth.ts'
import { addCompletionRoutes } from './routes/openai/routes-completions.ts'
import { addConversationRoutes } from './routes/openai/routes-conversations.ts'
import { addFileRoutes } from './routes/openai/routes-files.ts'
import { addMediaServiceRoutes } from './routes/openai/routes-media-services.ts'
import { addOpenaiRoutes, createOpenaiDialects } from './routes/openai/routes-openai.ts'
import { addResponsesRoutes } from './routes/openai/routes-responses.ts'
import { addActivityRoutes } from './routes/own/routes-activity.ts'
import { addCancelRoute } from './routes/own/routes-cancel.ts'
import { addEventRoute } from './routes/own/routes-events.ts'
import { addOpenapiRoutes } from './routes/own/routes-openapi.ts'
import { addOpsRoutes } from './routes/own/routes-ops.ts'
import { addPageRoutes } from './routes/own/routes-page.ts'
import { addReplicaRoutes } from './routes/own/routes-replicas.ts'
import { addRootRoutes } from './routes/own/routes-root.ts'
import { addSandboxRoute } from './routes/own/routes-sandbox.ts'
import { addAnthropicRoutes } from './routes/routes-anthropic.ts'
import { addLlamaStackRoutes, stackRoutes } from './routes/routes-llama-stack.ts'
import { addModelRoutes } from './routes/routes-model.ts'
import { addModelListRoutes } from './routes/routes-models.ts'
import { addTemplateRoutes } from './routes/routes-templates.ts'
import { addTokenRoutes } from './routes/routes-tokens.ts'
import { withoutSecondPrefix } from './routes/second-prefix.ts'
import { withModel } from './run/default-model.ts'
import type { ServerDeps } from './run/deps.ts'
import { createDialectHandler } from './run/serve-dialect.ts'
import { createUnknownRoute } from './unknown/unknown-route.ts'
import { createRequestWatch } from './watch-requests.ts'

/** Longer than common clients' pools keep connections, so that clients close them, and we never close one under a request. */
const keepAliveTimeoutMs = 75_000
/**
 * The limit for receiving a request; it does not affect replies. It frees connections of clients that stop sending, and allows the
 * largest body at 2.3 Mbit/s.
 */
const defaultRequestTimeoutMs = 120_000
/** The limit for receiving the headers, which clients send at once. With the time between checks, a connection is free in 10 s. */
const headersTimeoutMs = 7000
/** How often Node checks for late requests. */
const requestCheckMs = 2000
const defaultBodyLimitBytes = 32 * 1024 * 1024
const defaultTotalBodyLimitBytes = 8 * defaultBodyLimitBytes
/** How long replies may take to end after their requests were cancelled. */
const cancelledGraceMs = 5000

export type Server = {
  /** Not listening yet. */
  readonly app: FastifyInstance
  /** Answers a request that the program around this server has accepted, which decides about host names. */
  answer(request: IncomingMessage, response: ServerResponse): void
  /** Decides about requests that come from now on; those that run are not affected. */
  setAccess(rules: AccessRules): void
  /**
   * Says so at `/ready` for `delayMs`, then refuses new requests, closes those that have not arrived completely, and cancels the rest
   * after `graceMs`. The listener stays open until the last one has ended. Resolves when all connections are closed.
   */
  drain(graceMs: number, delayMs?: number): Promise<void>
}

/** The HTTP server with all routes. Throws for a route without a scope. */
export function createServer(deps: ServerDeps): Server {
  const { log, cancellations } = deps
  const inFlight = new InFlightRequests()
  const { watch, refuse } = createRequestWatch(deps, inFlight)
  const inTurn = createPipelines()
  const requestTimeoutMs = deps.requestTimeoutMs ?? defaultRequestTimeoutMs
  const bodyLimitBytes = deps.bodyLimitBytes ?? defaultBodyLimitBytes
  let phase: 'serving' | 'leaving' | 'draining' = 'serving'
  /** Requests that the program around this server has accepted. */
  const accepted = new WeakSet<IncomingMessage>()
  const app = fastify({
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
      const below = accepted.has(request) ? url : withoutBasePath(deps.basePath ?? '', url)
      // What asks later how the client wrote it asks for the part below.
      Object.assign(request, { originalUrl: below })
      return withoutSecondPrefix(below)
    },
    routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, maxParamLength: 1000 },
    clientErrorHandler: refuse,
    frameworkErrors: (error, request, reply) => {
      // Such as a bad escape in the URL; no hook has run.
      inTurn(request.raw, reply.raw, () => {
        watch(request, reply)
        reply.header('x-request-id', request.id)
        sendError(error, request, reply)
      })
    },
  })

  let access = createAccess(deps)
  app.decorateRequest('generation', undefined)
  app.decorateRequest('principal', undefined)
  app.decorateRequest('watch', undefined)
  app.decorateRequest('absentReply', undefined)
  app.decorateRequest('bodyShare', undefined)
  app.decorateRequest('exactBody', undefined)
  app.decorateRequest('queuePlace', undefined)
  app.decorateRequest('loadPlace', undefined)
  const openai = createOpenaiDialects(deps)
  const messages = createAnthropicMessages(deps)
  const room = new BodyRoom(deps.totalBodyLimitBytes ?? defaultTotalBodyLimitBytes)
  const upgrades = new Upgrades(app, { maxMessageBytes: bodyLimitBytes })
  const responses = createResponsesService({
    ...deps,
    shownTo,
    withModel: (body, viewer) => withModel(body, deps, viewer),
    wallClock: Date.now,
    onFailure: (error, what, id) => log.error({ err: error, ...(id !== undefined && { generationId: id }) }, what),
  })
  const sockets = new ResponsesSockets({ ...deps, service: responses, room, memoryBytes: bodyLimitBytes })
  app.decorate('dialects', [
    openai.chat,
    openai.completions,
    messages,
    ...stackRoutes.map(({ dialect }) => dialect),
    ...Object.values(ollamaDialects),
    ...(deps.dialects ?? []).map(({ dialect }) => dialect),
  ])
  const served = [
    '/v1/chat/completions',
    '/v1/completions',
    '/v1/embeddings',
    '/v1/messages',
    '/v1/responses',
    ...stackRoutes.flatMap(({ paths }) => paths),
    ...(deps.dialects ?? []).map(({ path }) => path),
  ]
  const describeUnknown = createUnknownRoute({
    served: served.map((route) => `POST ${route}`),
    isOneOfSeveral: deps.siblings !== undefined,
    paths: () => routes().map(({ path }) => path),
  })
  app.addHook('onRequest', ({ raw }, reply, done) => inTurn(raw, reply.raw, done))
  if (deps.capture !== undefined) addCapture(app, { keep: deps.capture, wallClock: Date.now })
  // The checks of all requests, before the body is read.
  app.addHook('onRequest', (request, reply, done) => {
    watch(request, reply)
    const { checkHost, crossOrigin, authenticate } = access
    reply.header('x-request-id', request.id)
    reply.headers(crossOrigin.replyHeaders(request.headers))
    if (phase === 'draining') reply.header('connection', 'close')
    // Health, readiness and cancels are answered to the end.
    const { scope, servesWhileDraining, servesAnyHost } = request.routeOptions.config
    if (phase === 'draining' && scope !== 'public' && servesWhileDraining !== true) {
      throw new AppError('shutting-down', 'the server is shutting down; try again elsewhere or later')
    }
    refuseHosts(request.raw)
    if (servesAnyHost !== true && !accepted.has(request.raw)) for (const host of readHosts(request)) checkHost(host)
    if (crossOrigin.isPreflight(request.method, request.headers)) {
      reply.code(204).headers(preflightHeaders).send()
      return
    }
    // Browsers open WebSockets without asking whether they may.
    crossOrigin.check(upgrades.has(request) ? 'CONNECT' : request.method, request.headers)
    if (request.is404 || scope === undefined) {
      throw refuseMethod(request, reply) ?? describeUnknown(request)
    }
    if (scope === 'public') return done()
    const admit = (principal: Principal) => {
      request.principal = principal
      if (scope !== 'any') authorize(principal, scope)
    }
    const found = authenticate(request.headers)
    if (found instanceof Promise) {
      found.then(admit).then(() => done(), done)
      return
    }
    admit(found)
    done()
  })
  const noteWrongKey = createWrongKeyWatch(log)
  app.addHook('onError', ({ headers, ip, principal }, _reply, error, done) => {
    // With a principal, it is an upstream that has refused a key.
    const isWrongKey = principal === undefined && AppError.from(error).code === 'unauthorized'
    if (isWrongKey && readKeys(headers).length > 0) noteWrongKey(ip)
    done()
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    addLimitHeaders(deps, request, reply)
    disconnectStalledReader(reply.raw, deps)
    done(null, payload)
  })
  app.setErrorHandler(sendError)
  app.removeAllContentTypeParsers()
  const readBody = createBodyReader({ limitBytes: bodyLimitBytes, room })
  app.addContentTypeParser('application/json', (request, payload, done) => {
    if (request.routeOptions.config.isBodyLenient === true) return readBody(request, payload, orNoBody(request, done))
    const encoding = request.headers['content-encoding'] ?? 'identity'
    if (encoding === 'identity') return readBody(request, payload, done)
    const message = `the content encoding '${encoding}' is not supported; send the body uncompressed`
    done(new AppError('unsupported-media-type', message))
  })

  app.addContentTypeParser('multipart/form-data', (request, payload, done) => {
    if (request.routeOptions.config.takesUploads === true) return done(null, payload)
    done(new AppError('unsupported-media-type', "this route takes no form; send JSON with 'content-type: application/json'"))
  })

  app.addContentTypeParser('*', (request, payload, done) => {
    if (request.routeOptions.config.takesAnyType === true) return readBody(request, payload, done)
    done(otherType(request.headers['content-type']))
  })

  const { refuseMethod, keepPathsApart, routes } = watchRoutes(app)
  addOpenaiRoutes(app, deps, openai)
  addCompletionRoutes(app, deps)
  addAnthropicRoutes(app, deps, messages)
  addResponsesRoutes(app, deps, { service: responses, upgrades, sockets })
  addConversationRoutes(app, responses)
  if (deps.files !== undefined) addFileRoutes(app, { ...deps, files: deps.files })
  addMediaServiceRoutes(app, { ...deps, room, bodyLimitBytes })
  addCancelRoute(app, deps)
  addSandboxRoute(app, deps)
  addModelListRoutes(app, deps)
  addLlamaStackRoutes(app, { ...deps, servedRoutes: routes })
  for (const { path, dialect } of deps.dialects ?? []) {
    const config = { scope: 'inference', encodeError: dialect.encodeError } as const
    app.post(path, { config }, createDialectHandler(deps, dialect))
  }
  addModelRoutes(app, deps)
  addUnslothRoutes(app, deps)
  addReplicaRoutes(app, deps)
  addActivityRoutes(app, deps)
  addEventRoute(app, { ...deps, isDraining: () => phase !== 'serving' })
  addTabbyRoutes(app, deps)
  if (deps.debugs === true) addMlcRoutes(app, deps)
  addOllamaRoutes(app, deps)
  addPresetRoutes(app, deps)
  addTemplateRoutes(app, deps)
  addTokenRoutes(app, deps)
  addLlamaServerRoutes(app, deps)
  addOtherLists(app, deps)
  addKoboldRoutes(app, deps)
  addRootRoutes(app, deps)
  addPageRoutes(app, deps)
  addOpenapiRoutes(app, { ...deps, servedRoutes: routes })
  addOpsRoutes(app, { ...deps, isDraining: () => phase !== 'serving' })
  keepPathsApart()

  async function drain(graceMs: number, delayMs = 0): Promise<void> {
    phase = 'leaving'
    if (delayMs > 0) await pause(delayMs)
    phase = 'draining'
    inFlight.closeIncomplete()
    sockets.drain()
    const idle = await Promise.all([inFlight.idleWithin(graceMs), responses.background.idleWithin(graceMs)])
    if (idle.includes(false)) {
      cancellations.cancelWhere({}, 'shutting-down')
      await Promise.all([inFlight.idleWithin(cancelledGraceMs), responses.background.idleWithin(cancelledGraceMs)])
    }
    // Not the HTTP server's `close`: that closes connections whose replies are written but not sent.
    Listener.prototype.close.call(app.server)
    // Those that came at the last moment, and were refused.
    await inFlight.idleWithin(cancelledGraceMs)
    // The rest are idle connections and stalled readers.
    sockets.close()
    const closed = app.close()
    app.server.closeAllConnections()
    await closed
  }

  const setAccess = (rules: AccessRules) => {
    access = createAccess(rules)
  }
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    accepted.add(request)
    app.routing(request, response)
  }
  return { app, answer, setAccess, drain }
}
