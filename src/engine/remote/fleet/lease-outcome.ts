import type { UpstreamError } from '../transport/upstream-error.ts'
import type { LeaseOutcome } from './pool.ts'
import { isTransient } from './retry.ts'

/** What a failed exchange says about the server that it was with. */
export function outcomeOf({ failure, message: reason }: UpstreamError): LeaseOutcome {
  if (failure.type !== 'status') return { type: 'failed', reason, isRefused: failure.type === 'connection' && failure.isRefused }
  const { status, retryAfterMs } = failure
  // It will not like our key any better the next time.
  if (status === 401 || status === 403) return { type: 'failed', reason }
  // What the request itself is at fault for says nothing about the server.
  if (!isTransient(failure)) return { type: 'neutral' }
  if (status === 429 || (status === 503 && retryAfterMs !== undefined)) {
    return { type: 'busy', retryAfterMs: retryAfterMs ?? 1000 }
  }
  return { type: 'failed', reason }
}
