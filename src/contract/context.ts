import type { Principal } from './principal.ts'
import type { ServedModel } from './served-model.ts'

/** Who ended a request early, or what. */
export type CancelReason = 'client-gone' | 'requested' | 'deadline' | 'over-budget' | 'unloaded' | 'shutting-down'

/** Names by which a caller can cancel its requests, besides their id; several requests may share a session. */
export type CancelKeys = { readonly cancelId?: string; readonly sessionId?: string }

/** W3C trace context, as the caller sent it. */
export type TraceContext = { readonly traceparent: string; readonly tracestate?: string }

/** All that is known of a request besides its content. Made once, when it arrives. */
export type RequestContext = {
  /** Also the id of the reply. */
  readonly id: string
  readonly principal: Principal
  /** The model that the caller named, resolved once: an alias that moves meanwhile moves no request. */
  readonly model: ServedModel
  /** Milliseconds of a monotonic clock. */
  readonly receivedAtMs: number
  /** Aborted when the request shall end, with an `AppError` as reason. */
  readonly signal: AbortSignal
  readonly trace?: TraceContext
}
