import type { CancelReason } from '../contract/context.ts'
import type { GenerationRecord } from '../contract/record.ts'

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
