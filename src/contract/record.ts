import type { ErrorCode } from './errors.ts'
import type { FinishReason, Timings, Usage } from './usage.ts'

/** The record of an ended generation. */
export type GenerationRecord = {
  readonly id: string
  /** The id of the principal. */
  readonly caller: string
  readonly model: string
  readonly outcome: 'ok' | ErrorCode
  readonly durationMs: number
  readonly usage?: Usage
  readonly timings?: Timings
  /** Of the choices that ended. */
  readonly finishReasons?: readonly FinishReason[]
}
