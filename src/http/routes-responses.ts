import type { FastifyInstance } from 'fastify'
import { encodeOpenaiError } from '../dialect/openai/errors.ts'
import { readRetrieveQuery } from '../dialect/openai-responses/queries.ts'
import { followResponse } from '../responses/follow.ts'
import type { ResponsesService } from '../responses/service.ts'
import { cancelResponse, deleteResponse, getResponse } from '../responses/stored-responses.ts'
import { callerOf } from './caller.ts'
import type { ServerDeps } from './deps.ts'
import { jsonReply } from './json-reply.ts'
import { createResponseHandler } from './serve-response.ts'
import { streamFollowed } from './stream-response.ts'

type WithId = { readonly Params: { readonly id: string } }

/** OpenAI's Responses. */
export function addResponsesRoutes(app: FastifyInstance, deps: ServerDeps, service: ResponsesService): void {
  const config = { scope: 'inference', encodeError: encodeOpenaiError } as const
  app.post('/v1/responses', { config }, createResponseHandler(deps, service))
  app.get<WithId>('/v1/responses/:id', { config }, async (request, reply) => {
    const { id } = request.params
    const owner = callerOf(request).id
    const { stream, after } = readRetrieveQuery(request.query)
    if (!stream) return jsonReply(reply, await getResponse(service, owner, id))
    await streamFollowed(deps, { request, reply }, (emit, signal) => followResponse(service, { owner, id, after, emit, signal }))
    reply.hijack()
    return
  })
  app.delete<WithId>('/v1/responses/:id', { config }, async (request) => {
    const { id } = request.params
    await deleteResponse(service, callerOf(request).id, id)
    return { id, object: 'response', deleted: true }
  })
  app.post<WithId>('/v1/responses/:id/cancel', { config }, async (request, reply) =>
    jsonReply(reply, await cancelResponse(service, callerOf(request).id, request.params.id)),
  )
}
