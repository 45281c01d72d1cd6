import { z } from 'zod'
import { isObject } from '../../base/json.ts'
import { parseExactly } from '../../base/parse-exactly.ts'
import { AppError } from '../../contract/errors.ts'
import { type Batch, type EndedLine, endedStates } from '../../contract/server/batches.ts'
import { looseObject } from '../wire/first-fault.ts'
import { invalid } from '../wire/invalid.ts'
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

/** A request of a batch as it was sent; its fields are checked with the model. `index` begins with 0. Throws `invalid-json` and `invalid-request`. */
export function decodeBatchRequest(text: string, index: number) {
  if (index >= maxRequests) throw invalid('requests', `requests: expected ${requestsError}`)
  let request: unknown
  try {
    request = parseExactly(text)
  } catch {
    throw new AppError('invalid-json', `the body is not valid JSON: requests[${index}] cannot be read`)
  }
  const { custom_id: customId, params, ...others } = isObject(request) ? request : {}
  return { customId, body: params, ignored: Object.keys(others).map((name) => `requests[].${name}`) }
}

/** Checks the body without its requests. Returns unknown fields. Throws `invalid-request`. */
export function checkNewMessageBatch(rest: unknown, requestCount: number): readonly string[] {
  const body = isObject(rest) && requestCount > 0 ? { ...rest, requests: [{}] } : rest
  return unknownNames(newMessageBatchSchema, validate(newMessageBatchSchema, body))
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
