import type { KeyQuota } from '../../contract/quota.ts'
import type { ToolBox } from '../../contract/server-tool.ts'
import type { GenerateDeps } from '../generate.ts'
import type { ToolApprovals } from './tool-approvals.ts'

/** A call of a server's tool, for metrics and the log; never its contents. */
export type ToolCallRecord = {
  readonly id: string
  /** The id of the principal. */
  readonly caller: string
  readonly tool: string
  readonly outcome: 'ok' | 'error' | 'timeout' | 'defect' | 'cancelled' | 'refused' | 'repeated' | 'unknown'
  readonly durationMs: number
  /** The error of a defect. */
  readonly error?: unknown
}

export type AnswerDeps = GenerateDeps & {
  /** The tools that this server runs itself; absent: none. */
  readonly tools?: ToolBox
  /** Where callers approve calls; absent: they cannot. */
  readonly approvals?: ToolApprovals
  /** Counts a call for a key; false: it has none left in this minute. Absent: there are no limits. */
  admitsToolCall?(quota: KeyQuota): Promise<boolean>
  /** Milliseconds of the epoch. */
  wallClock?(): number
  /** Called once per call of a server's tool. */
  onToolCall?(record: ToolCallRecord): void
}
