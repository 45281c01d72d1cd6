import type { ErrorCode } from './errors.ts'
import type { Timings, Usage } from './event.ts'

/** What is recorded of a generation when it has ended. */
export type GenerationRecord = {
  readonly id: string
  /** The id of the principal that asked. */
  readonly caller: string
  readonly model: string
  readonly outcome: 'ok' | ErrorCode
  readonly durationMs: number
  readonly usage?: Usage
  readonly timings?: Timings
}
