import type { AttemptOutcome } from '../attempts.ts'
import type { CancelReason } from '../context.ts'
import type { ErrorCode } from '../errors.ts'
import type { LoadPlace } from '../scheduler.ts'
import type { FinishReason, Timings, Usage } from '../usage.ts'
import type { ArrivedCall, WatchedRequest } from '../watch.ts'

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

/** How far a reader has read in a process: of the requests that ended, by their number, and of the changes of those that run. */
export type ActivityCursor = {
  readonly ended: number
  /** How many of those the reader may see. */
  readonly seen: number
  readonly changes: number
}

/** The same in all processes of the server, by their runs. */
export type ActivityPlace = Readonly<Record<string, ActivityCursor>>

export type ActivityQuestion = {
  /** Absent for a reader that begins: the last `recent` that ended come first. A process that it does not know is read from its start. */
  readonly place?: ActivityPlace
  readonly recent: number
  /** Whose requests are shown; absent: everyone's. */
  readonly owner?: string
  /** Of the requests that ended, in each process. */
  readonly limit: number
}

type ReadActivity = {
  /** Those that ended, in this order, then those that run and have changed. */
  readonly requests: readonly RequestSnapshot[]
  /** Requests that the reader may see that ended, and are forgotten, before it came to them. */
  readonly missed: number
  /** There are more that ended. */
  readonly hasMore: boolean
}
/** What a process answers, of which this is the run. */
export type ProcessPage = ReadActivity & { readonly run: string; readonly cursor: ActivityCursor }
export type ActivityPage = ReadActivity & { readonly place: ActivityPlace }

/** The requests that run, and the last ones that ended. Readers come for what is new: nothing is kept for them. */
export interface Activity {
  /** Of this process: its numbers mean nothing to another. */
  readonly run: string
  open(call: ArrivedCall): WatchedRequest
  read(question: ActivityQuestion): Promise<ActivityPage>
  /** `owner`: whose it must be; undefined: everyone's are shown. */
  find(id: string, owner: string | undefined): Promise<RequestSnapshot | undefined>
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
