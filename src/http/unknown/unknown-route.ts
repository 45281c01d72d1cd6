import type { FastifyRequest } from 'fastify'
import { AppError } from '../../contract/errors.ts'
import { whyLifecycleIsAbsent } from './absent-lifecycle.ts'
import { nearestRoute, replyOfAbsentProtocol } from './absent-protocols.ts'
import { whyRouteIsAbsent } from './absent-routes.ts'

type Known = {
  /** The generating routes, for clients of other protocols. */
  readonly served: readonly string[]
  /** The server is one process of several. */
  readonly isOneOfSeveral: boolean
  paths(): readonly string[]
}

/** The reply to a request without a route. A protocol that is not served has its own form (`absentReply`). */
export function createUnknownRoute({ served, isOneOfSeveral, paths }: Known) {
  return (request: FastifyRequest): AppError => {
    // As it is routed.
    const path = pathOf(request.url)
    request.absentReply = replyOfAbsentProtocol(path, served)
    const sent = `there is no route ${request.method} ${pathOf(request.originalUrl)}`
    const reason = isOneOfSeveral ? whyLifecycleIsAbsent(path) : undefined
    if (reason !== undefined) return new AppError('route-not-found', `${sent} ${reason}`)
    const instead = whyRouteIsAbsent(path)
    if (instead !== undefined) return new AppError('route-not-found', `${sent}: ${instead}`)
    const nearest = nearestRoute(path, paths())
    if (nearest !== undefined) return new AppError('route-not-found', `${sent}; did you mean ${nearest}?`)
    return new AppError('route-not-found', /^\/api\/(?!inference\/)/.test(path) ? `${sent}: ${openaiInstead}` : sent)
  }
}

/** Clients show it in a small box. */
const openaiInstead = 'use /v1 as the base URL of an OpenAI-compatible server'

function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? ''
}
