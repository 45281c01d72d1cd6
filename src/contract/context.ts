import type { OnTokensAfterCancel } from '../base/emit.ts'
import type { OnPlaced } from './call-origin.ts'
import type { AppError } from './errors.ts'
import type { Principal } from './principal.ts'
import type { Lane, OnLoading, OnQueued } from './scheduler.ts'
import type { ServedModel } from './served-model.ts'
import type { RequestTrace } from './tracing.ts'
import type { RequestWatch } from './watch.ts'

/** Why a request was cancelled. */
export type CancelReason = 'client-gone' | 'requested' | 'deadline' | 'over-budget' | 'unloaded' | 'shutting-down'

/** Keys by which a caller can cancel its requests, besides their id; requests may share a session. */
export type CancelKeys = { readonly cancelId?: string; readonly sessionId?: string }

/** What a caller wants to cancel: the runs of a cancel id, or else those of a session, and of replies by their ids. */
export type CancelTarget = CancelKeys & { readonly replyIds: readonly string[] }

/** Everything about a request except its content. Created once, on arrival. */
export type RequestContext = {
  /** Also the id of the reply. */
  readonly id: string
  readonly principal: Principal
  /** Resolved once: a later change of an alias does not affect the request. */
  readonly model: ServedModel
  /** Milliseconds of a monotonic clock. */
  readonly receivedAtMs: number
  /** Aborted to end the request, with an `AppError` as reason. */
  readonly signal: AbortSignal
  /** Called with tokens that were generated after `signal` was aborted. */
  readonly onTokensAfterCancel?: OnTokensAfterCancel
  /** Called when the engine has stopped and the slot is free; the reply may take longer. Again after each further run. */
  readonly onWorkEnded?: () => void
  readonly trace?: RequestTrace
  /** What the client calls its session; several conversations may share one. */
  readonly session?: string
  /** The version of the model that the caller wants; absent: any. */
  readonly version?: string
  /** The client gets the reply when it is complete. */
  readonly isWhole?: true
  /** How urgent it is; absent: `interactive`. */
  readonly lane?: Lane
  readonly onQueued?: OnQueued
  /** Ends the request, which has reached a limit of time, with this error. */
  readonly onLimit?: (error: AppError) => void
  readonly onLoading?: OnLoading
  /** Called with the id of another model, which serves the request from now on. */
  readonly onModel?: (id: string) => void
  /** The signal of the whole request, where `signal` ends one of its tries only. */
  readonly whole?: AbortSignal
  readonly onPlaced?: OnPlaced
  /** Absent: nobody can watch it. */
  readonly watch?: RequestWatch
}
