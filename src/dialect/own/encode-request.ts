import { given } from '../../base/json.ts'
import { placeOfChange } from '../../canonical/place-of-change.ts'
import type { RequestSnapshot, RequestState } from '../../contract/server/activity.ts'
import type { PromptChange, Timings, Usage } from '../../contract/usage.ts'
import type { WireRequest } from './replies.ts'

/**
 * A request in the form of `GET /api/requests` and the event stream. `readable`: the part of an error's message that the reader may see.
 */
export function encodeRequest(request: RequestSnapshot, readable: (message: string) => string): WireRequest {
  const { id, requestId, owner, route, session, startedAtMs, endedAtMs, model, requestedModel, usage, timings } = request
  const { state, finishReasons, diverged, error, stopped, attempts, servedBy, batch } = request
  return {
    id,
    request_id: requestId,
    key: owner,
    route,
    ...encodeState(state),
    started_at_ms: startedAtMs,
    ...given({ session_id: session, batch_id: batch, ended_at_ms: endedAtMs, model, requested_model: requestedModel }),
    ...(usage !== undefined && encodeUsage(usage)),
    ...(timings !== undefined && { timings: encodeTimings(timings) }),
    ...(finishReasons !== undefined && { finish_reasons: finishReasons }),
    ...(diverged !== undefined && { diverged: encodeDiverged(diverged) }),
    ...(error !== undefined && {
      error: { code: error.code, ...(error.message !== undefined && { message: readable(error.message) }) },
    }),
    ...(stopped !== undefined && { cancelled: stopped }),
    ...(attempts !== undefined && {
      attempts: attempts.map(({ server, outcome, error: why, firstChunkMs, isCacheHit }) => ({
        server,
        outcome,
        ...given({ error: why, first_chunk_ms: firstChunkMs }),
        ...(isCacheHit === true && { cache_hit: true }),
      })),
    }),
    ...(servedBy !== undefined && { served_by: hostOf(servedBy) }),
  }
}

/** Without its texts, which only the caller of the request may see. */
function encodeDiverged(diverged: PromptChange): NonNullable<WireRequest['diverged']> {
  const { part, kind, missedTokens } = diverged
  const change = { at: placeOfChange(diverged).replace(/^prompt\./, ''), part, missed_tokens: missedTokens }
  return { ...change, ...(kind !== undefined && { change: kind }) }
}

/** As in the list of a model's servers. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url
}

function encodeState(
  state: RequestState,
): Pick<WireRequest, 'state' | 'position' | 'estimated_wait_ms' | 'waits_for' | 'progress'> {
  switch (state.type) {
    case 'waiting': {
      const { position, estimatedWaitMs } = state
      return {
        state: state.type,
        position,
        ...(estimatedWaitMs !== undefined && { estimated_wait_ms: estimatedWaitMs }),
      }
    }
    case 'loading': {
      const { place } = state
      return {
        state: state.type,
        waits_for: place.state === 'waiting-for-memory' ? 'memory' : place.state === 'starting' ? 'files' : 'load',
        ...(place.state === 'loading' && { progress: place.progress }),
      }
    }
    case 'preparing':
    case 'generating':
    case 'done':
    case 'failed':
    case 'cancelled':
      return { state: state.type }
    case 'reading-prompt':
      return { state: 'reading_prompt' }
  }
}

function encodeUsage({ inputTokens, cachedInputTokens, outputTokens, reasoningTokens }: Usage) {
  return {
    input_tokens: inputTokens,
    cached_tokens: cachedInputTokens,
    output_tokens: outputTokens,
    ...(reasoningTokens > 0 && { reasoning_tokens: reasoningTokens }),
  }
}

function encodeTimings({ queueMs, loadMs, templateMs, prefillMs, firstTokenMs, decodeMs, totalMs }: Timings) {
  const known = {
    queue_ms: queueMs,
    load_ms: loadMs,
    template_ms: templateMs,
    prompt_ms: prefillMs,
    first_token_ms: firstTokenMs,
    decode_ms: decodeMs,
    total_ms: totalMs,
  }
  return Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined))
}
