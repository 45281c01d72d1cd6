import type { AttemptEnd, AttemptStart } from './attempts.ts'
import type { Sampling } from './sampling.ts'
import type { GenerationRecord } from './usage.ts'

/** W3C trace context. */
export type TraceContext = { readonly traceparent: string; readonly tracestate?: string }

/** The trace of a request. Without methods, it is the one that the caller sent, and no spans are recorded. */
export type RequestTrace = TraceContext & {
  servedBy?(model: string): void
  generationBegan?(generation: BegunGeneration): void
  generationEnded?(record: GenerationRecord): void
  beginAttempt?(start: AttemptStart): AttemptSpan
  beginTool?(call: { readonly name: string; readonly id: string }): ToolSpan
}

/** A generation as its request asks for it; absent: the default. */
export type BegunGeneration = {
  readonly sampling: Sampling
  readonly choices: number
  /** The form that its output must have. */
  readonly form: 'json' | 'text' | undefined
  /** The effort of its reasoning. */
  readonly effort: string | undefined
  readonly maxOutputTokens: number | undefined
  /** The client's name for its session. */
  readonly session: string | undefined
}

export type ToolSpan = {
  /** `error`: a word for the failure of the call. */
  end(error?: string): void
}

export type AttemptSpan = {
  /** The parent for the server's spans. */
  readonly context: TraceContext
  end(end: AttemptEnd): void
}

export interface Tracing {
  /** Undefined: the spans of this request are not recorded. */
  begin(request: ArrivedRequest): RequestSpan | undefined
}

export type ArrivedRequest = {
  readonly method: string
  /** The pattern of its route. */
  readonly route: string
  /** The name of its key. */
  readonly key: string
  /** The batch whose line it is. */
  readonly batch?: string | undefined
  /** The context that the caller sent. */
  readonly parent: TraceContext | undefined
}

export type RequestSpan = RequestTrace & {
  /** The reply is complete, or its reader is gone. The span ends with the last generation for it. */
  replied(reply: SentReply): void
}

export type SentReply = {
  /** 499: the client disconnected. */
  readonly status: number
  /** A generation continues without its client, or has not begun yet. */
  readonly goesOn: boolean
  readonly replyId?: string | undefined
  readonly requestedModel?: string | undefined
  /** The caller asked for a stream. */
  readonly isStreamed?: boolean | undefined
}
