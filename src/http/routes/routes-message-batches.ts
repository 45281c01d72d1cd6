import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Batch } from '../../contract/server/batches.ts'
import {
  checkNewMessageBatch,
  decodeBatchRequest,
  encodeDeletedMessageBatch,
  encodeMessageBatch,
  encodeMessageBatchList,
  encodeMessageResult,
} from '../../dialect/anthropic/batches.ts'
import { encodeAnthropicError, requestIdHeader } from '../../dialect/anthropic/errors.ts'
import { callerOf } from '../access/caller.ts'
import type { BodyRoom } from '../body/body-room.ts'
import { readList } from '../body/read-list.ts'
import { takeBody } from '../body/take-body.ts'
import { addIgnored } from '../reply/reply-headers.ts'
import { type BatchRouteDeps, batchesOf } from '../run/batches.ts'
import type { Listening } from '../run/deps.ts'

type Query = Readonly<Record<string, unknown>>
type WithId = { readonly Params: { readonly id: string } }

const path = '/v1/messages/batches'
const dayMs = 86_400_000
/** Anthropic's limit. */
const maxBodyBytes = 256 * 1024 * 1024

type MessageBatchDeps = BatchRouteDeps &
  Pick<Listening, 'basePath'> & {
    readonly room: BodyRoom
    readonly bodyLimitBytes: number
  }

export function addMessageBatchRoutes(app: FastifyInstance, deps: MessageBatchDeps): void {
  const { room, bodyLimitBytes: itemBytes } = deps
  const config = { scope: 'inference', encodeError: encodeAnthropicError } as const
  const onRequest = ({ id }: FastifyRequest, reply: FastifyReply, done: () => void) => {
    reply.header(requestIdHeader, id)
    done()
  }
  const route = { config, onRequest }
  const keyOf = (request: FastifyRequest<WithId>) => [callerOf(request).id, 'anthropic', request.params.id] as const
  const encode = (batch: Batch, { protocol, host }: FastifyRequest) =>
    encodeMessageBatch(batch, `${protocol}://${host}${deps.basePath ?? ''}${path}/${batch.id}/results`)

  app.post(path, { ...route, config: { ...config, readsBody: true } }, async (request, reply) => {
    const batches = batchesOf(deps)
    const ignored = new Set<string>()
    let besides: readonly string[] = []
    async function* requests() {
      let count = 0
      for await (const piece of readList(request, 'requests', { itemBytes, totalBytes: maxBodyBytes, room })) {
        if ('item' in piece) {
          const decoded = decodeBatchRequest(piece.item, count)
          for (const name of decoded.ignored) ignored.add(name)
          count += 1
          yield decoded
        } else besides = checkNewMessageBatch(piece.rest, count)
      }
    }
    const nameOf = (index: number, field: string) => `requests[${index}].${field}`
    const given = { endpoint: '/v1/messages', windowMs: dayMs, requests: requests(), nameOf }
    const batch = await batches.createFromRequests(callerOf(request), given)
    addIgnored(reply, [...besides, ...ignored])
    return encode(batch, request)
  })
  app.get<{ Querystring: Query }>(path, route, async (request) => {
    const batches = await batchesOf(deps).list(callerOf(request).id, 'anthropic')
    return encodeMessageBatchList(
      batches.map((batch) => encode(batch, request)),
      request.query,
    )
  })
  app.get<WithId>(`${path}/:id`, { ...route, config: { ...config, isPolled: true } }, async (request) => {
    return encode(await batchesOf(deps).find(...keyOf(request)), request)
  })
  app.post<WithId>(`${path}/:id/cancel`, route, async (request) => {
    takeBody(request)
    return encode(await batchesOf(deps).cancel(...keyOf(request)), request)
  })
  app.delete<WithId>(`${path}/:id`, route, async (request) => {
    await batchesOf(deps).delete(...keyOf(request))
    return encodeDeletedMessageBatch(request.params.id)
  })
  app.get<WithId>(`${path}/:id/results`, route, async (request, reply) => {
    const pages = await batchesOf(deps).results(...keyOf(request))
    async function* lines() {
      for await (const page of pages) yield page.map(encodeMessageResult).join('')
    }
    return reply.header('content-type', 'application/x-jsonl').send(Readable.from(lines()))
  })
}
