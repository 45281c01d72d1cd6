import type { AttemptOutcome } from './attempts.ts'
import type { CancelReason } from './context.ts'
import type { ErrorCode } from './errors.ts'
import type { LoadPlace } from './scheduler.ts'
import type { FinishReason, Timings, Usage } from './usage.ts'
import type { ArrivedCall, WatchedRequest } from './watch.ts'

/** `preparing`: it is read, and what it refers to is fetched. */
export type RequestState =
  | { readonly type: 'preparing' | 'reading-prompt' | 'generating' | 'done' | 'failed' | 'cancelled' }
  | { readonly type: 'waiting'; readonly position: number; readonly estimatedWaitMs?: number }
  | { readonly type: 'loading'; readonly place: LoadPlace }

/** One try at a server of a remote model. */
export type SeenAttempt = {
  readonly server: string
  readonly outcome: AttemptOutcome
  readonly error?: string
  readonly firstChunkMs?: number
  /** The server is known to have read the beginning of the prompt. */
  readonly isCacheHit?: true
}

/** A request as it is shown: everything but its content. */
export type RequestSnapshot = Omit<ArrivedCall, 'hasNoReply'> & {
  /** Milliseconds of the epoch. */
  readonly startedAtMs: number
  readonly endedAtMs?: number
  readonly state: RequestState
  readonly model?: string
  readonly requestedModel?: string
  /** While it runs, as far as it is known. */
  readonly usage?: Usage
  readonly timings?: Timings
  readonly finishReasons?: readonly FinishReason[]
  /** Where the conversation differs from its turn before: what follows cannot come from a cache. */
  readonly divergedAt?: string
  readonly error?: { readonly code: ErrorCode; readonly message?: string }
  readonly stopped?: { readonly reason: CancelReason; readonly by?: string; readonly limit?: string }
  /** At servers of a remote model, the last one last. */
  readonly attempts?: readonly SeenAttempt[]
  readonly servedBy?: string
}

/** Whose requests are shown; absent: everyone's. */
export type ActivityViewer = { readonly owner?: string }

/** How far a reader has read: of the requests that ended, by their number, and of the changes of those that run. */
export type ActivityCursor = { readonly ended: number; readonly changes: number }

export type ActivityPage = {
  /** Those that ended, in this order, then those that run and have changed. */
  readonly requests: readonly RequestSnapshot[]
  readonly cursor: ActivityCursor
  /** Requests of all callers that ended, and are forgotten, before this reader came to them. */
  readonly missed: number
  /** There are more that ended. */
  readonly hasMore: boolean
}

/** The requests that run, and the last ones that ended. Readers come for what is new: nothing is kept for them. */
export interface Activity {
  /** Milliseconds of the epoch: numbers of other runs of the server mean nothing. */
  readonly startedAtMs: number
  open(call: ArrivedCall): WatchedRequest
  /** The last `count` that ended come first when a reader begins here. */
  begin(count: number): ActivityCursor
  read(cursor: ActivityCursor, viewer: ActivityViewer, limit: number): ActivityPage
  find(id: string, viewer: ActivityViewer): RequestSnapshot | undefined
}

/** A line of the log, as JSON, with its number. */
export type NumberedLine = { readonly number: number; readonly json: string }

export type LinesPage = { readonly lines: readonly NumberedLine[]; readonly next: number; readonly missed: number }

/** The last lines of the log. */
export interface LogLines {
  /** The number of the line that is `count` lines ago. */
  begin(count: number): number
  /** Lines from this number on. */
  read(from: number, limit: number): LinesPage
}

/** What the server did in an interval that ended at this time, in milliseconds of the epoch. */
export type LoadSample = {
  readonly atMs: number
  readonly outputTokensPerSecond: number
  readonly inputTokensPerSecond: number
  /** Requests that ended, and those of them that failed. */
  readonly ended: number
  readonly failed: number
  /** At its end. */
  readonly running: number
  readonly waiting: number
  /** What models hold of this machine's memory, and this process. */
  readonly modelBytes: number
  readonly processBytes: number
  /** The median, and the slowest but 5 %, of the requests that ended; absent without any. */
  readonly firstTokenMs?: number
  readonly slowFirstTokenMs?: number
}

/** The last hour of the server. */
export interface History {
  readonly next: number
  since(number: number): readonly LoadSample[]
}
