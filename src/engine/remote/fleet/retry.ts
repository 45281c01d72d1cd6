import type { UpstreamFailure } from '../transport/upstream-error.ts'

export type RetryQuestion = {
  readonly failure: UpstreamFailure
  /** How many exchanges this request has had, the failed one included; at least 1. */
  readonly attempt: number
  /** The client has seen something of the answer: from here on it can only be continued. */
  readonly isEventSent: boolean
  /** The upstream can continue a partial message, and what was sent can be continued. */
  readonly canContinue: boolean
  /** Another endpoint may be used now, so that this one's Retry-After binds nobody. */
  readonly hasAlternative: boolean
  /** One deadline for all attempts together; absent when there is none. Same clock as `nowMs`. */
  readonly deadlineMs?: number
  readonly nowMs: number
  /** From 0 to below 1. */
  random(): number
}

export type RetryDecision =
  /** The request again, whole. */
  | { readonly type: 'retry'; readonly delayMs: number }
  /** The request again, with what was sent of the answer, to be continued. */
  | { readonly type: 'continue'; readonly delayMs: number }
  | { readonly type: 'give-up' }

const maxAttempts = 4
const firstDelayMs = 100
const maxDelayMs = 5000

/** Whether and when a failed exchange is tried again. */
export function planRetry(question: RetryQuestion): RetryDecision {
  const { failure, attempt, isEventSent, canContinue, hasAlternative, deadlineMs, nowMs } = question
  if (attempt >= maxAttempts) return { type: 'give-up' }
  if (!isTransient(failure) && !(isElsewhereOtherwise(failure) && hasAlternative)) return { type: 'give-up' }
  if (isEventSent && !canContinue) return { type: 'give-up' }
  const delayMs = delayOf(question)
  if (deadlineMs !== undefined && nowMs + delayMs >= deadlineMs) return { type: 'give-up' }
  return { type: isEventSent ? 'continue' : 'retry', delayMs }
}

/** Whether the same request may succeed at another time or place; false: it is the request that is wrong. */
export function isTransient(failure: UpstreamFailure): boolean {
  switch (failure.type) {
    case 'connection':
    case 'truncated':
      return true
    case 'status': {
      const { status } = failure
      if (status === 408 || status === 425 || status === 429) return true
      // 501 and 505 say what the server is, not how it fares.
      return status >= 500 && status !== 501 && status !== 505
    }
  }
}

/** What this server lacks or refuses to us, and another may not: the model, or our key. */
function isElsewhereOtherwise(failure: UpstreamFailure): boolean {
  return failure.type === 'status' && [401, 403, 404].includes(failure.status)
}

/** Full jitter, so that requests which failed together do not come back together. */
function delayOf({ failure, attempt, hasAlternative, random }: RetryQuestion): number {
  // The client is reading: the first continuation must not wait, and is not one of many that the same second failed.
  if (failure.type === 'truncated' && hasAlternative) return 0
  const jitterMs = Math.round(random() * Math.min(maxDelayMs, firstDelayMs * 2 ** (attempt - 1)))
  const retryAfterMs = failure.type === 'status' && !hasAlternative ? (failure.retryAfterMs ?? 0) : 0
  return retryAfterMs + jitterMs
}
