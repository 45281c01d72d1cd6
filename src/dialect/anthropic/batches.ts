import { z } from 'zod'
import { isObject } from '../../base/json.ts'
import { type Batch, type EndedLine, endedStates } from '../../contract/server/batches.ts'
import { looseObject } from '../wire/first-fault.ts'
import { unknownNames } from '../wire/unknown-keys.ts'
import { validate } from '../wire/validate.ts'
import { pageOf } from './files.ts'
import type { DeletedMessageBatch, MessageBatch, MessageBatchList } from './replies.ts'

const maxRequests = 100_000
const requestsError = `a list of 1 to ${maxRequests} requests, each {custom_id, params}`

export const newMessageBatchSchema = looseObject({
  requests: z
    .array(z.unknown(), { error: requestsError })
    .min(1, { error: requestsError })
    .max(maxRequests, { error: requestsError }),
})

/** The requests as they were sent; their fields are checked with the models. `ignored`: unknown fields beside them. Throws `invalid-request`. */
export function decodeNewMessageBatch(body: unknown) {
  const wire = validate(newMessageBatchSchema, body)
  const ignored = new Set(unknownNames(newMessageBatchSchema, wire))
  const requests = wire.requests.map((request) => {
    const { custom_id: customId, params, ...others } = isObject(request) ? request : {}
    for (const name of Object.keys(others)) ignored.add(`requests[].${name}`)
    return { customId, body: params }
  })
  return { requests, ignored: [...ignored] }
}

/** `resultsUrl`: of the results, once there are any. */
export function encodeMessageBatch(batch: Batch, resultsUrl: string): MessageBatch {
  const { total, succeeded, errored, cancelled: canceled, expired } = batch.counts
  const hasEnded = endedStates.includes(batch.state)
  return {
    id: batch.id,
    type: 'message_batch',
    processing_status: hasEnded ? 'ended' : batch.state === 'cancelling' ? 'canceling' : 'in_progress',
    request_counts: { processing: total - succeeded - errored - canceled - expired, succeeded, errored, canceled, expired },
    created_at: time(batch.createdAtMs) ?? '',
    ended_at: time(batch.times.endedMs),
    expires_at: time(batch.deadlineMs) ?? '',
    archived_at: null,
    cancel_initiated_at: time(batch.times.cancellingMs),
    results_url: hasEnded ? resultsUrl : null,
  }
}

/** A page of batches, the newest first. Throws `invalid-request` for an invalid query. */
export function encodeMessageBatchList(
  batches: readonly MessageBatch[],
  query: Readonly<Record<string, unknown>>,
): MessageBatchList {
  return pageOf(batches, query, 'batches')
}

export function encodeDeletedMessageBatch(id: string): DeletedMessageBatch {
  return { id, type: 'message_batch_deleted' }
}

/** A line of the results. The reply is not read again: its numbers stay as they are. */
export function encodeMessageResult({ customId, ending, reply }: EndedLine): string {
  return `{"custom_id":${JSON.stringify(customId)},"result":${resultOf(ending, reply)}}\n`
}

function resultOf(ending: EndedLine['ending'], reply = 'null'): string {
  switch (ending) {
    case 'succeeded':
      return `{"type":"succeeded","message":${reply}}`
    case 'errored':
      return `{"type":"errored","error":${reply}}`
    case 'cancelled':
      return '{"type":"canceled"}'
    case 'expired':
      return '{"type":"expired"}'
  }
}

function time(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString()
}
