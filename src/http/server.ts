import type { IncomingMessage, ServerResponse } from 'node:http'
import { Server as Listener } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { createAnthropicMessages } from '../dialect/anthropic/dialect.ts'
import { ollamaDialects } from '../dialect/ollama/dialects.ts'
import { createResponsesService } from '../responses/service.ts'
import { type AccessRules, createAccess } from './access/access.ts'
import { type Authenticate, keepsRights } from './access/auth.ts'
import { watchRoutes } from './access/route-guard.ts'
import { createWrongKeyWatch } from './access/wrong-keys.ts'
import { addAllRoutes, generatingPaths } from './all-routes.ts'
import { addBodyParsers } from './body/body-parsers.ts'
import { BodyRoom } from './body/body-room.ts'
import { addCapture } from './capture/capture.ts'
import { addChecks, type Sender } from './check-requests.ts'
import { InFlightRequests } from './in-flight-requests.ts'
import { SdkSockets } from './lm-studio-sdk/sdk-sockets.ts'
import { type Enter, openFastify } from './open-fastify.ts'
import { createPipelines } from './pipelined.ts'
import { sendError, shownTo } from './reply/error-reply.ts'
import { KeptStreams } from './reply/kept-streams.ts'
import { addLimitHeaders } from './reply/reply-headers.ts'
import { disconnectStalledReader } from './reply/stalled-reader.ts'
import { ResponsesSockets } from './responses/responses-socket.ts'
import { Upgrades } from './responses/upgrades.ts'
import { createOpenaiDialects } from './routes/openai/routes-openai.ts'
import { stackRoutes } from './routes/routes-llama-stack.ts'
import { withModel } from './run/default-model.ts'
import type { ServerDeps } from './run/deps.ts'
import { createUnknownRoute } from './unknown/unknown-route.ts'
import { createRequestWatch } from './watch-requests.ts'

const defaultBodyLimitBytes = 32 * 1024 * 1024
const defaultTotalBodyLimitBytes = 8 * defaultBodyLimitBytes
/** How long replies may take to end after their requests were cancelled. */
const cancelledGraceMs = 5000

export type Server = {
  /** Not listening yet. */
  readonly app: FastifyInstance
  /** Answers a request accepted by the surrounding program, which decides about host names and, with a `sender`, about its rights. */
  answer(request: IncomingMessage, response: ServerResponse, sender?: Sender): void
  /** Changes the rules for later requests; running ones are not affected. */
  setAccess(rules: AccessRules): void
  /**
   * Reports the end at `/ready` for `delayMs`, then refuses new requests, closes incomplete ones, and cancels the rest after `graceMs`. The
   * listener stays open until the last one has ended. Resolves when all connections are closed.
   */
  drain(graceMs: number, delayMs?: number): Promise<void>
}

/** The HTTP server with all routes. Throws for a route without a scope. */
export function createServer(deps: ServerDeps): Server {
  const { log, cancellations, bodyLimitBytes = defaultBodyLimitBytes, dialects: added = [] } = deps
  const inFlight = new InFlightRequests()
  const streams = new KeptStreams({ everyone: deps.everyone, wallClock: Date.now })
  const { watch, refuse } = createRequestWatch(deps, inFlight)
  const inTurn = createPipelines()
  const enter: Enter = (request, reply, go) =>
    inTurn(request.raw, reply.raw, () => {
      watch(request, reply)
      go()
    })
  /** Requests accepted by the surrounding program. */
  const accepted = new WeakMap<IncomingMessage, Sender | undefined>()
  const isAccepted = (request: IncomingMessage) => accepted.has(request)
  let access = createAccess(deps)
  let phase: 'serving' | 'leaving' | 'draining' = 'serving'
  const app = openFastify(deps, { bodyLimitBytes, isAccepted, enter, refuse })

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
  const authenticate: Authenticate = (headers) => access.authenticate(headers)
  const noteWrongKey = createWrongKeyWatch(log)
  const sockets = new ResponsesSockets({ ...deps, responses, room, memoryBytes: bodyLimitBytes, authenticate })
  const sdkSockets = new SdkSockets({ ...deps, room, authenticate, noteWrongKey })
  app.decorate('dialects', [
    openai.chat,
    openai.completions,
    messages,
    ...stackRoutes.map(({ dialect }) => dialect),
    ...Object.values(ollamaDialects),
    ...added.map(({ dialect }) => dialect),
  ])

  const { refuseMethod, keepPathsApart, routes: servedRoutes } = watchRoutes(app)
  const describeUnknown = createUnknownRoute({
    served: [...generatingPaths, ...added.map(({ path }) => path)].map((path) => `POST ${path}`),
    isOneOfSeveral: deps.siblings !== undefined,
    paths: () => servedRoutes().map(({ path }) => path),
  })
  app.addHook('onRequest', enter)
  if (deps.capture !== undefined) addCapture(app, { keep: deps.capture, wallClock: Date.now })
  addChecks(app, {
    upgrades,
    access: () => access,
    noteWrongKey,
    isDraining: () => phase === 'draining',
    isAccepted,
    senderOf: (request) => accepted.get(request),
    refuseUnknown: (request, reply) => refuseMethod(request, reply) ?? describeUnknown(request),
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    addLimitHeaders(deps, request, reply)
    disconnectStalledReader(reply.raw, deps)
    // Fastify closes the connection of a body that was refused, and a client that is still sending it would lose the reply. Node reads on,
    // within the time limit of requests.
    if (phase !== 'draining') reply.removeHeader('connection')
    done(null, payload)
  })
  app.setErrorHandler(sendError)
  addBodyParsers(app, { limitBytes: bodyLimitBytes, room })
  const isDraining = () => phase !== 'serving'
  addAllRoutes(app, {
    ...deps,
    streams,
    openai,
    messages,
    responses,
    sockets,
    sdkSockets,
    upgrades,
    room,
    bodyLimitBytes,
    servedRoutes,
    isDraining,
    goesOn: async (request) => !isDraining() && (await keepsRights(authenticate, request)),
  })
  keepPathsApart()

  async function drain(graceMs: number, delayMs = 0): Promise<void> {
    phase = 'leaving'
    if (delayMs > 0) await pause(delayMs)
    phase = 'draining'
    inFlight.closeIncomplete()
    sockets.drain()
    sdkSockets.drain()
    const idle = await Promise.all([inFlight, responses.background, streams].map((runs) => runs.idleWithin(graceMs)))
    if (idle.includes(false)) {
      cancellations.cancelWhere({}, 'shutting-down')
      await Promise.all([inFlight, responses.background, streams].map((runs) => runs.idleWithin(cancelledGraceMs)))
    }
    // Not the HTTP server's `close`, which closes connections whose replies are written but not sent.
    Listener.prototype.close.call(app.server)
    // Requests that arrived at the last moment, and were refused.
    await inFlight.idleWithin(cancelledGraceMs)
    // The rest are idle connections and stalled readers.
    sockets.close()
    sdkSockets.close()
    const closed = app.close()
    app.server.closeAllConnections()
    await closed
  }

  return {
    app,
    answer: (request, response, sender) => {
      accepted.set(request, sender)
      app.routing(request, response)
    },
    setAccess: (rules) => {
      access = createAccess(rules)
    },
    drain,
  }
}
