import type { Endpoint } from '../transport/client.ts'
import type { UpstreamError, UpstreamFailure } from '../transport/upstream-error.ts'
import type { RequestOutcome } from './pool.ts'

/** Whether the same request may succeed later or on another replica; false: the request itself is wrong. */
export function isTransient(failure: UpstreamFailure): boolean {
  switch (failure.type) {
    case 'connection':
    case 'truncated':
    case 'malformed':
    case 'incomplete':
      return true
    case 'excess':
      return false
    case 'status': {
      const { status } = failure
      if (status === 408 || status === 425 || status === 429) return true
      // 501 and 505 describe the server, not its health.
      return status >= 500 && status !== 501 && status !== 505
    }
  }
}

/** What a failed exchange says about the replica. */
export function outcomeOfFailure(
  { failure, message: reason }: UpstreamError,
  { apiKey }: Pick<Endpoint, 'apiKey'>,
): RequestOutcome {
  // What a reply holds depends on the request: no caller may take the server away from all others.
  if (failure.type === 'incomplete' || failure.type === 'excess') return { type: 'neutral' }
  if (failure.type !== 'status') return { type: 'failed', reason, isRefused: failure.type === 'connection' && failure.isRefused }
  const { status, retryAfterMs } = failure
  // Our key will not become valid by itself; a caller may bring one where we have none.
  if (status === 401 || status === 403) return apiKey === undefined ? { type: 'neutral' } : { type: 'failed', reason }
  // The request is at fault, which says nothing about the replica.
  if (!isTransient(failure)) return { type: 'neutral' }
  if (status === 429 || ((status === 503 || status === 529) && retryAfterMs !== undefined)) {
    return { type: 'busy', retryAfterMs: retryAfterMs ?? 1000 }
  }
  return { type: 'failed', reason }
}
