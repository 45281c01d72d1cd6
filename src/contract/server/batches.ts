/** The protocol in which a batch was created; the other protocol does not show it. */
export type BatchForm = 'openai' | 'anthropic'

/** `validating`: its lines are read; `finalizing`: its lines have ended, and its files are written. The last four are final. */
export type BatchState = 'validating' | 'running' | 'finalizing' | 'cancelling' | 'failed' | 'completed' | 'expired' | 'cancelled'

export const endedStates: readonly BatchState[] = ['failed', 'completed', 'expired', 'cancelled']

/** A fault of the input: of a line, the first of which is 1, or of the whole file. */
export type BatchFault = {
  readonly code: string
  readonly message: string
  readonly line?: number
  readonly param?: string
}

export type LineEnding = 'succeeded' | 'errored' | 'cancelled' | 'expired'

/** Lines by how they ended; the others wait or run. */
export type BatchCounts = { readonly total: number } & Readonly<Record<LineEnding, number>>

/** The tokens of all replies. */
export type BatchUsage = {
  readonly inputTokens: number
  readonly cachedInputTokens: number
  readonly outputTokens: number
  readonly reasoningTokens: number
}

/** Requests that nobody waits for. Times are milliseconds of the epoch. */
export type Batch = {
  readonly id: string
  /** The id of the principal. */
  readonly owner: string
  /** The hash of the key that created it, whose permissions and limits its lines have; absent: any caller's. */
  readonly keyHash?: string
  readonly form: BatchForm
  readonly state: BatchState
  readonly createdAtMs: number
  /** Lines that have not begun by then expire. */
  readonly deadlineMs: number
  /** The path of all lines. */
  readonly endpoint: string
  readonly inputFileId?: string
  /** How long its files of results are kept; absent: until they are deleted. */
  readonly outputLifetimeMs?: number
  readonly metadata?: { readonly [key: string]: string }
  /** When it came into these states; `endedMs`: into a final one. */
  readonly times: {
    readonly runningMs?: number
    readonly finalizingMs?: number
    readonly cancellingMs?: number
    readonly endedMs?: number
  }
  /** Until then, the process that reads its lines or writes its files is presumed to live. */
  readonly leaseUntilMs?: number
  /** Why its lines wait, such as for a budget, and until when. */
  readonly waits?: { readonly reason: string; readonly untilMs: number }
  readonly faults?: readonly BatchFault[]
  /** Replies that succeeded, and those that did not, once it has ended. */
  readonly outputFileId?: string
  readonly errorFileId?: string
  readonly counts: BatchCounts
  readonly usage: BatchUsage
}

export type BatchLine = {
  /** The first is 1. */
  readonly line: number
  readonly customId: string
  readonly model: string
  /** Equal for lines that begin alike. Lines whose groupings begin alike begin a little alike. */
  readonly grouping: string
  /** JSON. */
  readonly body: string
}

/** A line that this process runs. */
export type ClaimedLine = BatchLine & { readonly batchId: string; readonly attempts: number }

/** Takes lines for a runner, to which they belong until `untilMs`. */
export type Claim = {
  readonly runner: string
  readonly model: string
  readonly limit: number
  /** Takes lines of this many groupings, so that the runner has as many of each, before it takes more of them or others. */
  readonly groupings: number
  /** The lines that the runner has and does not run yet, by grouping. */
  readonly ready: ReadonlyMap<string, number>
  readonly untilMs: number
}

/** The end of a line. Without a status, it was not sent. */
export type LineResult = {
  readonly ending: LineEnding
  readonly status?: number
  readonly requestId?: string
  /** The reply's body, as JSON. */
  readonly reply?: string
  readonly usage?: BatchUsage
}

export type EndedLine = LineResult & Pick<BatchLine, 'line' | 'customId'>

export type LineKey = { readonly batchId: string; readonly line: number }

/**
 * Batches and their lines. `owner` limits a call to the batches of a caller; the others are for processes that run them. Calls reject with
 * `store-unavailable` when the database fails.
 */
export interface BatchStore {
  create(batch: Batch): Promise<void>
  find(owner: string, id: string): Promise<Batch | undefined>
  /** The newest first. */
  list(owner: string, form: BatchForm): Promise<readonly Batch[]>
  delete(owner: string, id: string): Promise<void>
  /** Batches of all owners that have not ended, the oldest first. */
  active(): Promise<readonly Batch[]>
  /** Changes a batch in one step, except the lines that have ended; undefined leaves it as it is. Resolves with the changed batch. */
  change(id: string, edit: (batch: Batch) => Batch | undefined): Promise<Batch | undefined>
  addLines(id: string, lines: readonly BatchLine[]): Promise<void>
  deleteLines(id: string): Promise<void>
  /** The models of lines that wait. */
  waitingModels(id: string): Promise<readonly string[]>
  claim(id: string, claim: Claim): Promise<readonly ClaimedLine[]>
  /** A line that belongs to another runner by now is left out. */
  renew(runner: string, lines: readonly LineKey[], untilMs: number): Promise<void>
  /** Gives lines back. `attempts`: those that count; `notBeforeMs`: when they may run again. */
  giveBack(runner: string, line: LineKey & { readonly attempts: number; readonly notBeforeMs: number }): Promise<void>
  /** Keeps results, and counts them. A line that belongs to another runner by now is left out. */
  finish(runner: string, results: readonly (LineKey & LineResult)[]): Promise<void>
  /** Gives back lines whose runner is presumed dead. */
  freeAbandoned(): Promise<void>
  endWaiting(id: string, ending: LineEnding): Promise<void>
  /** Whether lines wait or run. */
  hasWork(id: string): Promise<boolean>
  /** A page of ended lines, in the order of the input, after this one. */
  results(id: string, after: number, limit: number): Promise<readonly EndedLine[]>
}
