import type { KeyQuota } from '../../contract/quota.ts'
import type { ToolBox } from '../../contract/server-tool.ts'
import type { GenerateDeps } from '../generate.ts'
import type { ToolApprovals } from './tool-approvals.ts'

/** A call of a tool of the server, for metrics and the log: never what was in it. */
export type ToolCallRecord = {
  /** The id of the reply. */
  readonly id: string
  /** The id of the principal. */
  readonly caller: string
  readonly tool: string
  readonly outcome: 'ok' | 'error' | 'timeout' | 'defect' | 'cancelled' | 'refused' | 'repeated' | 'unknown'
  readonly durationMs: number
  /** The defect. */
  readonly error?: unknown
}

/** What `answer` gets from the layers around it. */
export type AnswerDeps = GenerateDeps & {
  /** The tools that this server runs itself; absent: none. */
  readonly tools?: ToolBox
  /** Where callers approve calls; absent: they cannot. */
  readonly approvals?: ToolApprovals
  /** Counts a call for a key; false: it may have no more in this minute. Absent: there are no limits. */
  admitsToolCall?(quota: KeyQuota): Promise<boolean>
  /** Milliseconds of the epoch. */
  wallClock?(): number
  /** Called once per call of a tool of the server. */
  onToolCall?(record: ToolCallRecord): void
}
