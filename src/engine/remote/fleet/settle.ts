import type { BreakerPass } from './breaker.ts'
import type { Member } from './member.ts'

/** The outcome of a request, as far as it concerns the endpoint. */
export type RequestOutcome =
  | { readonly type: 'ok' }
  /** 429, or 503 with Retry-After: healthy, but to be avoided for a while. */
  | { readonly type: 'busy'; readonly retryAfterMs: number }
  | { readonly type: 'failed'; readonly reason: string; readonly isRefused?: boolean }
  /** Either the endpoint or the request is at fault: `blame` tells that it was the endpoint. */
  | {
      readonly type: 'doubtful'
      readonly reason: string
      /** For a router: the client whose request failed. */
      readonly client?: string
    }
  /** It moved away in vain: the replica was silent. */
  | { readonly type: 'lost' }
  /** No information: the client's fault, cancelled, or not sent. */
  | { readonly type: 'neutral' }

/** Ends a request of the endpoint. */
export function settle(
  member: Member,
  pass: BreakerPass,
  { outcome, nowMs }: { readonly outcome: RequestOutcome; readonly nowMs: number },
): void {
  const { breaker } = member
  switch (outcome.type) {
    case 'ok':
      member.lastSuccessMs = Math.max(member.lastSuccessMs, nowMs)
      breaker.leave(pass, 'ok', nowMs)
      return
    case 'busy':
      member.busyUntilMs = Math.max(member.busyUntilMs, nowMs + outcome.retryAfterMs)
      breaker.leave(pass, 'ok', nowMs)
      return
    case 'failed':
      member.lastFailure = outcome.reason
      breaker.leave(pass, outcome.isRefused === true ? 'refused' : 'failed', nowMs)
      return
    case 'doubtful':
      member.lastFailure = outcome.reason
      if (outcome.client !== undefined) pass.client = outcome.client
      breaker.leave(pass, 'doubtful', nowMs)
      return
    case 'lost':
    case 'neutral':
      breaker.leave(pass, outcome.type, nowMs)
      return
  }
}
