import type { OnTokensAfterCancel } from '../base/emit.ts'
import type { OnPlaced } from './call-origin.ts'
import type { AppError } from './errors.ts'
import type { SchedulerRequest } from './scheduler.ts'
import type { ServedModel } from './served-model.ts'
import type { RequestTrace } from './tracing.ts'
import type { RequestWatch } from './watch.ts'

export type CancelReason = 'client-gone' | 'requested' | 'deadline' | 'over-budget' | 'unloaded' | 'shutting-down'

/** Keys by which a caller can cancel its requests, besides their id; requests may share a session. */
export type CancelKeys = { readonly cancelId?: string; readonly sessionId?: string }

/** A caller's request to cancel: the runs of a cancel id, or otherwise those of a session, and of replies by their ids. */
export type CancelTarget = CancelKeys & { readonly replyIds: readonly string[] }

/** A cancel that a caller asks for: `by` is the caller's id. An administrator may cancel what others run. */
export type RequestedCancel = CancelTarget & { readonly by: string; readonly isAdmin: boolean }

/** Everything about a request except its content. Created once, on arrival. */
export type RequestContext = SchedulerRequest & {
  /** Resolved once: a later change of an alias does not affect the request. */
  readonly model: ServedModel
  /** Milliseconds of a monotonic clock. */
  readonly receivedAtMs: number
  /** Called with tokens that were generated after `signal` was aborted. */
  readonly onTokensAfterCancel?: OnTokensAfterCancel
  /**
   * Called when the engine has stopped and the slot is free, while the reply may still take longer; called again after each further run.
   */
  readonly onWorkEnded?: () => void
  readonly trace?: RequestTrace
  /** The version of the model that the caller wants; absent: any. */
  readonly version?: string
  /** The client gets the reply when it is complete. */
  readonly isWhole?: true
  /** The batch whose line it is. */
  readonly batch?: string
  /** Called when its prompt is read, and again for each further prompt. */
  readonly onRead?: () => void
  /** Ends the request with this error when it reaches a time limit. */
  readonly onLimit?: (error: AppError) => void
  /** Called with the id of another model that serves the request from now on. */
  readonly onModel?: (id: string) => void
  readonly onPlaced?: OnPlaced
  /** Absent: nobody can watch it. */
  readonly watch?: RequestWatch
}
