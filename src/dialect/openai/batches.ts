import { z } from 'zod'
import type { Batch, BatchState, EndedLine } from '../../contract/server/batches.ts'
import { looseObject } from '../wire/first-fault.ts'
import { invalid } from '../wire/invalid.ts'
import { unknownNames } from '../wire/unknown-keys.ts'
import { validate } from '../wire/validate.ts'
import { expiresAfter, pageOf } from './files.ts'
import { metadata } from './lists.ts'
import type { WireBatch, WireBatchList } from './replies.ts'

const endpoints = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/embeddings',
  '/v1/responses',
  '/v1/rerank',
  '/v1/score/evaluation',
] as const
const hourMs = 3_600_000
const windowError = 'a text such as "24h", from 1h to 168h'

export const newBatchSchema = looseObject({
  input_file_id: z.string({ error: 'the id of a file with the purpose batch' }).min(1),
  endpoint: z.enum(endpoints, { error: `one of ${endpoints.join(', ')}` }),
  completion_window: z.string({ error: windowError }).regex(/^\d{1,3}h$/, { error: windowError }),
  metadata,
  output_expires_after: expiresAfter.nullish(),
})

/** `ignored`: unknown fields. Throws `invalid-request`. */
export function decodeNewBatch(body: unknown) {
  const wire = validate(newBatchSchema, body ?? {})
  const hours = Number.parseInt(wire.completion_window, 10)
  if (hours < 1 || hours > 168) throw invalid('completion_window', `completion_window: expected ${windowError}`)
  const given = {
    endpoint: wire.endpoint,
    inputFileId: wire.input_file_id,
    windowMs: hours * hourMs,
    ...(wire.output_expires_after && { outputLifetimeMs: wire.output_expires_after.seconds * 1000 }),
    ...(wire.metadata !== undefined && wire.metadata !== null && { metadata: wire.metadata }),
  }
  return { given, ignored: unknownNames(newBatchSchema, wire) }
}

const states: Readonly<Record<BatchState, WireBatch['status']>> = {
  validating: 'validating',
  running: 'in_progress',
  finalizing: 'finalizing',
  cancelling: 'cancelling',
  failed: 'failed',
  completed: 'completed',
  expired: 'expired',
  cancelled: 'cancelled',
}

/** OpenAI's batch object. */
export function encodeBatch(batch: Batch, nowMs: number): WireBatch {
  const { state, times, counts, usage, waits } = batch
  const endedAt = (final: BatchState) => (state === final ? seconds(times.endedMs) : null)
  const hours = Math.round((batch.deadlineMs - batch.createdAtMs) / hourMs)
  const isWaiting = state === 'running' && waits !== undefined && waits.untilMs > nowMs
  return {
    id: batch.id,
    object: 'batch',
    endpoint: batch.endpoint,
    errors: batch.faults === undefined ? null : { object: 'list', data: batch.faults.map(encodeFault) },
    input_file_id: batch.inputFileId ?? '',
    completion_window: `${hours}h`,
    status: states[state],
    output_file_id: batch.outputFileId ?? null,
    error_file_id: batch.errorFileId ?? null,
    created_at: Math.floor(batch.createdAtMs / 1000),
    in_progress_at: seconds(times.runningMs),
    expires_at: Math.floor(batch.deadlineMs / 1000),
    finalizing_at: seconds(times.finalizingMs),
    completed_at: endedAt('completed'),
    failed_at: endedAt('failed'),
    expired_at: endedAt('expired'),
    cancelling_at: seconds(times.cancellingMs),
    cancelled_at: endedAt('cancelled'),
    request_counts: { total: counts.total, completed: counts.succeeded, failed: counts.errored },
    usage: {
      input_tokens: usage.inputTokens,
      input_tokens_details: { cached_tokens: usage.cachedInputTokens },
      output_tokens: usage.outputTokens,
      output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
      total_tokens: usage.inputTokens + usage.outputTokens,
    },
    metadata: batch.metadata ?? null,
    ...(isWaiting && { waiting: { reason: waits.reason, until: Math.ceil(waits.untilMs / 1000) } }),
  }
}

/** A line of OpenAI's files of results. The reply is not read again: its numbers stay as they are. */
export function encodeBatchResult(batchId: string, { line, customId, ending, status, requestId, reply }: EndedLine): string {
  const id = JSON.stringify(`batch_req_${batchId.slice('batch_'.length)}_${line}`)
  const custom = JSON.stringify(customId)
  if (status === undefined || reply === undefined) {
    const message =
      ending === 'expired'
        ? 'the completion window ended before this request could run'
        : 'the batch was cancelled before this request could run'
    const error = JSON.stringify({ code: `batch_${ending}`, message })
    return `{"id":${id},"custom_id":${custom},"response":null,"error":${error}}\n`
  }
  const response = `{"status_code":${status},"request_id":${JSON.stringify(requestId ?? '')},"body":${reply}}`
  return `{"id":${id},"custom_id":${custom},"response":${response},"error":null}\n`
}

/** A page of batches, the newest first. Throws `invalid-request` for an invalid query. */
export function encodeBatchList(
  batches: readonly Batch[],
  query: Readonly<Record<string, unknown>>,
  nowMs: number,
): WireBatchList {
  return pageOf(
    batches.map((batch) => encodeBatch(batch, nowMs)),
    query,
    { ofWhat: 'batches', most: 100, usual: 20 },
  )
}

function encodeFault({ code, message, line, param }: NonNullable<Batch['faults']>[number]) {
  return { code, message, line: line ?? null, param: param ?? null }
}

function seconds(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.floor(ms / 1000)
}
