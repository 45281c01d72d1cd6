import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../../../contract/errors.ts'
import { encodeOpenaiError } from '../../../dialect/openai/errors.ts'
import { decodeMetadata, encodePage, readListQuery, readPageQuery } from '../../../dialect/openai/lists.ts'
import { encodeDeleted, encodeStored, encodeStoredMessages } from '../../../dialect/openai-chat/stored.ts'
import { callerOf } from '../../access/caller.ts'
import { takeRequiredBody } from '../../body/take-body.ts'
import { jsonReply } from '../../reply/json-reply.ts'
import type { Keeping, Models } from '../../run/deps.ts'
import { namesOf } from '../../run/stored-lists.ts'
import { isFromStackClient } from '../routes-models.ts'

type WithId = { readonly Params: { readonly id: string } }

/** OpenAI's stored chat completions; empty without a store. */
export function addCompletionRoutes(app: FastifyInstance, deps: Models & Keeping): void {
  const completions = deps.store?.completions
  const config = { scope: 'inference', encodeError: encodeOpenaiError } as const
  const path = '/v1/chat/completions'

  app.get(path, { config }, async (request, reply) => {
    const caller = callerOf(request)
    const defaultOrder = isFromStackClient(request.headers) ? 'desc' : 'asc'
    const { page, filter } = readListQuery(request.query, {
      defaultOrder,
      namesOf: (model) => namesOf(model, deps, caller),
    })
    const { responses = [], hasMore = false } = (await completions?.list(caller.id, page, filter)) ?? {}
    return jsonReply(reply, encodePage(responses.map(encodeStored), { ids: responses.map(({ id }) => id), hasMore }))
  })
  app.get<WithId>(`${path}/:id`, { config }, async (request, reply) => jsonReply(reply, await find(request)))
  app.post<WithId>(`${path}/:id`, { config }, async (request, reply) => {
    const { id } = request.params
    const metadata = decodeMetadata(takeRequiredBody(request).body)
    if ((await completions?.setMetadata(callerOf(request).id, id, metadata)) !== true) throw notFound(id)
    return jsonReply(reply, await find(request))
  })
  app.delete<WithId>(`${path}/:id`, { config }, async (request) => {
    const { id } = request.params
    if ((await completions?.delete(callerOf(request).id, id)) !== true) throw notFound(id)
    return encodeDeleted(id)
  })
  app.get<WithId>(`${path}/:id/messages`, { config }, async (request, reply) => {
    const { id } = request.params
    const messages = await completions?.listInput(callerOf(request).id, id, readPageQuery(request.query, 'asc'))
    if (messages === undefined) throw notFound(id)
    return jsonReply(reply, encodeStoredMessages(messages))
  })

  async function find(request: FastifyRequest<WithId>) {
    const { id } = request.params
    const stored = await completions?.find(callerOf(request).id, id)
    if (stored === undefined) throw notFound(id)
    return encodeStored(stored)
  }
}

function notFound(id: string): AppError {
  return new AppError('not-found', `Chat completion with id '${id}' not found.`)
}
