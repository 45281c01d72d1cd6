import type { ErrorCode } from '../contract/errors.ts'
import type { Timings, Usage } from '../contract/event.ts'
import type { CancelReason } from '../core/cancellations.ts'

/** What is counted about one generation when it has ended. */
export type GenerationRecord = {
  readonly model: string
  readonly outcome: 'ok' | ErrorCode
  readonly durationMs: number
  readonly usage?: Usage
  readonly timings?: Timings
}

/** Everything the server counts. Labels come from closed sets: route patterns and model ids, never URLs. */
export type Metrics = {
  requestStarted(): void
  requestEnded(route: string, status: number): void
  generationEnded(record: GenerationRecord): void
  requestsCancelled(reason: CancelReason, count?: number): void
  /** The text that Prometheus reads, and its content type. */
  render(): Promise<string>
  readonly contentType: string
}
