import type { Lane } from './scheduler.ts'

/** W3C trace context as sent by the caller. */
export type TraceContext = { readonly traceparent: string; readonly tracestate?: string }

/** Where a call comes from: what the servers that do it for us may be told of that. */
export type CallOrigin = {
  /** Unique; the id of the reply. */
  readonly id: string
  /** The id of the principal: the name of its key. */
  readonly caller: string
  readonly trace?: TraceContext
  /** What the client calls its session. */
  readonly session?: string
  /** Absent: `interactive`. */
  readonly lane?: Lane
}
