import type { FastifyInstance, FastifyRequest } from 'fastify'
import { encodeOpenaiError } from '../../../dialect/openai/errors.ts'
import { decodeMetadata, readPageQuery } from '../../../dialect/openai/lists.ts'
import {
  decodeNewConversation,
  encodeConversation,
  encodeDeletedConversation,
} from '../../../dialect/openai-responses/decode-conversations.ts'
import { decodeNewItems, encodeItemPage } from '../../../dialect/openai-responses/items.ts'
import {
  addItems,
  createConversation,
  deleteConversation,
  deleteItem,
  findConversation,
  findItem,
  listItems,
  updateConversation,
} from '../../../responses/conversations.ts'
import type { ResponsesService } from '../../../responses/service.ts'
import { callerOf } from '../../access/caller.ts'
import { takeBody } from '../../body/take-body.ts'
import { jsonReply } from '../../reply/json-reply.ts'

type WithId = { readonly Params: { readonly id: string } }
type WithItem = { readonly Params: { readonly id: string; readonly itemId: string } }

type Parts = { readonly responses: ResponsesService }

/** OpenAI's conversations. */
export function addConversationRoutes(app: FastifyInstance, { responses: service }: Parts): void {
  const config = { scope: 'inference', encodeError: encodeOpenaiError } as const
  const ofCaller = (request: FastifyRequest<WithId> | FastifyRequest<WithItem>) => ({
    owner: callerOf(request).id,
    id: request.params.id,
  })

  app.post('/v1/conversations', { config }, async (request) => {
    const conversation = await createConversation(service, callerOf(request).id, decodeNewConversation(takeBody(request).body))
    return encodeConversation(conversation)
  })
  app.get<WithId>('/v1/conversations/:id', { config }, async (request) => {
    const { owner, id } = ofCaller(request)
    return encodeConversation(await findConversation(service, owner, id))
  })
  app.post<WithId>('/v1/conversations/:id', { config }, async (request) => {
    const metadata = decodeMetadata(takeBody(request).body)
    return encodeConversation(await updateConversation(service, { ...ofCaller(request), metadata }))
  })
  app.delete<WithId>('/v1/conversations/:id', { config }, async (request) => {
    const { owner, id } = ofCaller(request)
    await deleteConversation(service, owner, id)
    return encodeDeletedConversation(id)
  })

  app.post<WithId>('/v1/conversations/:id/items', { config }, async (request, reply) => {
    const items = decodeNewItems(takeBody(request).body)
    return jsonReply(reply, encodeItemPage(await addItems(service, ofCaller(request), items)))
  })
  app.get<WithId>('/v1/conversations/:id/items', { config }, async (request, reply) => {
    return jsonReply(reply, encodeItemPage(await listItems(service, ofCaller(request), readPageQuery(request.query, 'desc'))))
  })
  app.get<WithItem>('/v1/conversations/:id/items/:itemId', { config }, async (request, reply) => {
    return jsonReply(reply, (await findItem(service, ofCaller(request), request.params.itemId)).json)
  })
  app.delete<WithItem>('/v1/conversations/:id/items/:itemId', { config }, async (request) => {
    return encodeConversation(await deleteItem(service, ofCaller(request), request.params.itemId))
  })
}
