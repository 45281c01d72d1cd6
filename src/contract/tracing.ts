import type { AttemptEnd, AttemptStart } from './attempts.ts'
import type { GenerationRecord } from './usage.ts'

/** W3C trace context. */
export type TraceContext = { readonly traceparent: string; readonly tracestate?: string }

/** The trace of a request. Without methods, it is what the caller sent, and no spans are recorded. */
export type RequestTrace = TraceContext & {
  /** The model that the request is for. */
  servedBy?(model: string): void
  generationBegan?(): void
  generationEnded?(record: GenerationRecord): void
  /** An attempt at a server begins, which is a span of its own. */
  beginAttempt?(start: AttemptStart): AttemptSpan
}

/** The span of an attempt. */
export type AttemptSpan = {
  /** What the server gets as its parent. */
  readonly context: TraceContext
  end(end: AttemptEnd): void
}

/** Records spans of requests. */
export interface Tracing {
  /** Undefined: those of this request are not recorded. */
  begin(request: ArrivedRequest): RequestSpan | undefined
}

export type ArrivedRequest = {
  readonly method: string
  /** The pattern of its route. */
  readonly route: string
  /** The name of its key. */
  readonly key: string
  /** What the caller sent. */
  readonly parent: TraceContext | undefined
}

export type RequestSpan = RequestTrace & {
  /** The reply is complete, or its reader has gone. The span ends with the last generation for it. */
  replied(reply: SentReply): void
}

export type SentReply = {
  /** 499: the client disconnected. */
  readonly status: number
  /** A generation continues without its client, or has not begun yet. */
  readonly goesOn: boolean
  readonly replyId?: string | undefined
  /** The model as the caller named it. */
  readonly requestedModel?: string | undefined
}
