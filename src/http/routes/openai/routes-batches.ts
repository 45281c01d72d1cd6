import type { FastifyInstance } from 'fastify'
import { decodeNewBatch, encodeBatch, encodeBatchList } from '../../../dialect/openai/batches.ts'
import { encodeOpenaiError } from '../../../dialect/openai/errors.ts'
import { callerOf } from '../../access/caller.ts'
import { takeBody } from '../../body/take-body.ts'
import { addIgnored } from '../../reply/reply-headers.ts'
import { type BatchRouteDeps, batchesOf } from '../../run/batches.ts'

type Query = Readonly<Record<string, unknown>>
type WithId = { readonly Params: { readonly id: string } }

/** OpenAI's batches: files of requests that nobody waits for. */
export function addBatchRoutes(app: FastifyInstance, deps: BatchRouteDeps): void {
  const config = { scope: 'inference', encodeError: encodeOpenaiError } as const
  app.post('/v1/batches', { config }, async (request, reply) => {
    const { given, ignored } = decodeNewBatch(takeBody(request).body)
    addIgnored(reply, ignored)
    return encodeBatch(await batchesOf(deps).createFromFile(callerOf(request), given), Date.now())
  })
  app.get<{ Querystring: Query }>('/v1/batches', { config }, async (request) => {
    return encodeBatchList(await batchesOf(deps).list(callerOf(request).id, 'openai'), request.query, Date.now())
  })
  app.get<WithId>('/v1/batches/:id', { config: { ...config, isPolled: true } }, async (request) => {
    return encodeBatch(await batchesOf(deps).find(callerOf(request).id, 'openai', request.params.id), Date.now())
  })
  app.post<WithId>('/v1/batches/:id/cancel', { config }, async (request) => {
    takeBody(request)
    return encodeBatch(await batchesOf(deps).cancel(callerOf(request).id, 'openai', request.params.id), Date.now())
  })
}
