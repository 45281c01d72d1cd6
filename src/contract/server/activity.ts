import type { AttemptOutcome } from '../attempts.ts'
import type { CancelReason } from '../context.ts'
import type { ErrorCode } from '../errors.ts'
import type { LoadPlace } from '../scheduler.ts'
import type { FinishReason, PromptChange, Timings, Usage } from '../usage.ts'
import type { ArrivedCall, WatchedRequest } from '../watch.ts'

/** `preparing`: the request is being read, and its references fetched. */
export type RequestState =
  | { readonly type: 'preparing' | 'reading-prompt' | 'generating' | 'done' | 'failed' | 'cancelled' }
  | { readonly type: 'waiting'; readonly position: number; readonly estimatedWaitMs?: number }
  | { readonly type: 'loading'; readonly place: LoadPlace }

export type SeenAttempt = {
  readonly server: string
  readonly outcome: AttemptOutcome
  readonly error?: string
  readonly firstChunkMs?: number
  /** The server had most of the prompt in its cache. */
  readonly isCacheHit?: true
}

/** A request for display: everything but its content, with the exception of `diverged`. */
export type RequestSnapshot = Omit<ArrivedCall, 'hasNoReply'> & {
  /** Milliseconds of the epoch. */
  readonly startedAtMs: number
  readonly endedAtMs?: number
  readonly state: RequestState
  readonly model?: string
  readonly requestedModel?: string
  /** While it runs, as far as known. */
  readonly usage?: Usage
  readonly timings?: Timings
  readonly finishReasons?: readonly FinishReason[]
  /** How the conversation differs from its previous turn. Only the caller of both may see its texts. */
  readonly diverged?: PromptChange
  readonly error?: { readonly code: ErrorCode; readonly message?: string }
  readonly stopped?: { readonly reason: CancelReason; readonly by?: string; readonly limit?: string }
  /** At servers of a remote model, in order. */
  readonly attempts?: readonly SeenAttempt[]
  readonly servedBy?: string
}

/** How far a reader has read in a process: the number of ended requests, and of changes to running ones. */
export type ActivityCursor = {
  readonly ended: number
  /** How many of the ended ones the reader may see. */
  readonly seen: number
  readonly changes: number
}

/** The cursors of all processes of the server, by their runs. */
export type ActivityPlace = Readonly<Record<string, ActivityCursor>>

export type ActivityQuestion = {
  /** Absent for a new reader: the last `recent` ended requests come first. An unknown process is read from its start. */
  readonly place?: ActivityPlace
  readonly recent: number
  /** The owner whose requests are shown; absent: everyone's. */
  readonly owner?: string
  /** The most ended requests from each process. */
  readonly limit: number
}

type ReadActivity = {
  /** Ended requests in order, then running ones that have changed. */
  readonly requests: readonly RequestSnapshot[]
  /** Ended requests that the reader may see, but that were forgotten before it read them. */
  readonly missed: number
  /** More ended requests follow. */
  readonly hasMore: boolean
}
/** The answer of one process, with its run. */
export type ProcessPage = ReadActivity & { readonly run: string; readonly cursor: ActivityCursor }
export type ActivityPage = ReadActivity & { readonly place: ActivityPlace }

/** The running requests, and the last ended ones. Readers fetch what is new: nothing is kept for them. */
export interface Activity {
  /** The run of this process: its numbers mean nothing to another. */
  readonly run: string
  open(call: ArrivedCall): WatchedRequest
  read(question: ActivityQuestion): Promise<ActivityPage>
  /** `owner`: the request must belong to it; undefined: anyone's is found. */
  find(id: string, owner: string | undefined): Promise<RequestSnapshot | undefined>
}

export type NumberedLine = { readonly number: number; readonly json: string }

export type LinesPage = { readonly lines: readonly NumberedLine[]; readonly next: number; readonly missed: number }

export interface LogLines {
  /** The number of the line `count` lines ago. */
  begin(count: number): number
  /** Lines from this number on. */
  read(from: number, limit: number): LinesPage
}

/** The load in an interval that ended at this time, in milliseconds of the epoch. */
export type LoadSample = {
  readonly atMs: number
  readonly outputTokensPerSecond: number
  readonly inputTokensPerSecond: number
  /** Requests that ended, and how many of them failed. */
  readonly ended: number
  readonly failed: number
  /** At the end of the interval. */
  readonly running: number
  readonly waiting: number
  /** The memory that models hold on this machine, and that of this process. */
  readonly modelBytes: number
  readonly processBytes: number
  /** The median and the 95th percentile of the ended requests; absent without any. */
  readonly firstTokenMs?: number
  readonly slowFirstTokenMs?: number
}

/** The last hour of the server. */
export interface History {
  readonly next: number
  since(number: number): readonly LoadSample[]
}
