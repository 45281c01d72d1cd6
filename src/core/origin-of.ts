import type { CallOrigin } from '../contract/call-origin.ts'
import type { RequestContext } from '../contract/context.ts'

/** The part of a request's context that engines may pass to their servers. */
export function originOf({ id, principal, trace, session, lane, onPlaced, watch }: RequestContext): CallOrigin {
  return {
    id,
    caller: principal.id,
    ...(trace !== undefined && { trace }),
    ...(session !== undefined && { session }),
    ...(lane !== undefined && { lane }),
    ...(onPlaced !== undefined && { onPlaced }),
    ...(watch !== undefined && { onAttempt: (start, end) => watch.attempted(start, end) }),
  }
}
