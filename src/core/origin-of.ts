import type { CallOrigin } from '../contract/call-origin.ts'
import type { RequestContext } from '../contract/context.ts'

/** What of a request's context engines may tell servers that work for them. */
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
