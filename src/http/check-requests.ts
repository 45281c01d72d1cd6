import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError, type ErrorCode } from '../contract/errors.ts'
import type { Principal } from '../contract/principal.ts'
import type { createAccess } from './access/access.ts'
import { authorize, readKeys } from './access/auth.ts'
import { preflightHeaders } from './access/cross-origin.ts'
import { readHosts, refuseHosts } from './access/hosts.ts'
import type { Upgrades } from './responses/upgrades.ts'

/** Who a line of a batch comes from: it needs no key, and gives way to callers that wait. */
export type Sender = {
  /** Undefined: the key that created the batch does not exist any more. */
  readonly principal: Principal | undefined
  /** The id of the batch. */
  readonly batch: string
  /** Called when one of them needs its slot; absent: it keeps its slot. */
  readonly onWanted?: () => void
  /** Called when its prompt is read. */
  readonly onRead: () => void
  /** Called before the reply of a failure, which not every protocol names. */
  readonly onFailed?: (code: ErrorCode) => void
}

type Checks = {
  noteWrongKey(address: string): void
  readonly upgrades: Upgrades
  /** The rules that hold now. */
  access(): ReturnType<typeof createAccess>
  isDraining(): boolean
  /** Whether the program around this server has accepted the request. */
  isAccepted(request: IncomingMessage): boolean
  /** Undefined: it has to send a key, if one is required. */
  senderOf(request: IncomingMessage): Sender | undefined
  refuseUnknown(request: FastifyRequest, reply: FastifyReply): AppError
}

/** Checks all requests before their bodies are read: whether we drain, hosts, origins, the route, the key. */
export function addChecks(app: FastifyInstance, checks: Checks): void {
  const { noteWrongKey, upgrades, access, isDraining, isAccepted, senderOf, refuseUnknown } = checks
  app.addHook('onRequest', (request, reply, done) => {
    const { checkHost, crossOrigin, authenticate } = access()
    reply.header('x-request-id', request.id)
    reply.headers(crossOrigin.replyHeaders(request.headers))
    if (isDraining()) reply.header('connection', 'close')
    // Health, readiness and cancels are answered to the end.
    const { scope, servesWhileDraining, servesAnyHost } = request.routeOptions.config
    if (isDraining() && scope !== 'public' && servesWhileDraining !== true) {
      throw new AppError('shutting-down', 'the server is shutting down; try again elsewhere or later')
    }
    refuseHosts(request.raw)
    if (servesAnyHost !== true && !isAccepted(request.raw)) for (const host of readHosts(request)) checkHost(host)
    if (crossOrigin.isPreflight(request.method, request.headers)) {
      reply.code(204).headers(preflightHeaders).send()
      return
    }
    // Browsers open WebSockets without asking whether they may.
    crossOrigin.check(upgrades.has(request) ? 'CONNECT' : request.method, request.headers)
    if (request.is404 || scope === undefined) throw refuseUnknown(request, reply)
    if (scope === 'public') return done()
    const admit = (principal: Principal) => {
      request.principal = principal
      if (scope !== 'any') authorize(principal, scope)
    }
    const sender = senderOf(request.raw)
    request.sender = sender
    const found = sender === undefined ? authenticate(request.headers) : ownerOf(sender)
    if (found instanceof Promise) {
      found.then(admit).then(() => done(), done)
      return
    }
    admit(found)
    done()
  })
  app.addHook('onError', ({ headers, ip, principal }, _reply, error, done) => {
    // With a principal, it is an upstream that has refused a key.
    const isWrongKey = principal === undefined && AppError.from(error).code === 'unauthorized'
    if (isWrongKey && readKeys(headers).length > 0) noteWrongKey(ip)
    done()
  })
}

function ownerOf({ principal }: Sender): Principal {
  if (principal === undefined) throw new AppError('unauthorized', 'the API key that created the batch does not exist any more')
  return principal
}
