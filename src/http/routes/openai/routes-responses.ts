import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../../contract/errors.ts'
import { encodeOpenaiError } from '../../../dialect/openai/errors.ts'
import { readListQuery, readPageQuery } from '../../../dialect/openai/lists.ts'
import { encodeItemPage } from '../../../dialect/openai-responses/items.ts'
import { readRetrieveQuery } from '../../../dialect/openai-responses/queries.ts'
import { followResponse } from '../../../responses/follow.ts'
import { acceptCompact, acceptCount, type NarrowCall } from '../../../responses/narrow-calls.ts'
import type { ResponsesService } from '../../../responses/service.ts'
import {
  cancelResponse,
  deleteResponse,
  getResponse,
  listInputItems,
  listResponses,
} from '../../../responses/stored-responses.ts'
import { callerOf } from '../../access/caller.ts'
import { takeRequiredBody } from '../../body/take-body.ts'
import { jsonReply } from '../../reply/json-reply.ts'
import { addIgnored } from '../../reply/reply-headers.ts'
import type { ResponsesSockets } from '../../responses/responses-socket.ts'
import { createResponseHandler, readSentKeys } from '../../responses/serve-response.ts'
import { streamFollowed } from '../../responses/stream-response.ts'
import type { Upgrades } from '../../responses/upgrades.ts'
import type { Models, Replying, Watching } from '../../run/deps.ts'
import type { CallerContext } from '../../run/open-run.ts'
import { withRun } from '../../run/serve-call.ts'
import { namesOf } from '../../run/stored-lists.ts'

type WithId = { readonly Params: { readonly id: string } }

export type ResponsesParts = {
  readonly responses: ResponsesService
  readonly upgrades: Upgrades
  readonly sockets: ResponsesSockets
}

/** OpenAI's Responses, over HTTP and over WebSockets. */
export function addResponsesRoutes(app: FastifyInstance, deps: Models & Watching & Replying & ResponsesParts): void {
  const { responses: service, upgrades, sockets } = deps
  const config = { scope: 'inference', encodeError: encodeOpenaiError } as const
  app.post('/v1/responses', { config }, createResponseHandler(deps, service))
  // OpenAI has no list of responses; llama-stack's clients use one.
  app.get('/v1/responses', { config }, async (request, reply) => {
    if (!upgrades.has(request)) {
      const caller = callerOf(request)
      const list = readListQuery(request.query, { defaultOrder: 'desc', namesOf: (model) => namesOf(model, deps, caller) })
      return jsonReply(reply, await listResponses(service, caller.id, list))
    }
    // An unreadable header is refused before the upgrade.
    const sentKeys = readSentKeys(request)
    upgrades.accept(request, reply, (socket) => sockets.serve(socket, request, sentKeys))
    return reply
  })
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
  app.get<WithId>('/v1/responses/:id/input_items', { config }, async (request, reply) => {
    const page = readPageQuery(request.query, 'desc')
    return jsonReply(reply, encodeItemPage(await listInputItems(service, callerOf(request).id, { id: request.params.id, page })))
  })
  app.post('/v1/responses/input_tokens', { config }, narrowHandler(acceptCount))
  app.post('/v1/responses/compact', { config }, narrowHandler(acceptCompact))
  app.post<WithId>('/v1/responses/:id/cancel', { config }, async (request, reply) =>
    jsonReply(reply, await cancelResponse(service, callerOf(request).id, request.params.id)),
  )

  function narrowHandler(accept: (service: ResponsesService, body: unknown, caller: CallerContext) => Promise<NarrowCall>) {
    return (request: FastifyRequest, reply: FastifyReply) =>
      withRun(deps, request, reply, async (caller) => {
        const { decoded, run } = await accept(service, takeRequiredBody(request).body, caller)
        addIgnored(reply, decoded.ignored)
        try {
          return jsonReply(reply, await run())
        } catch (error) {
          throw AppError.from(error).inWordsOf(decoded.nameOf)
        }
      })
  }
}
