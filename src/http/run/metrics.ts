import type { CancelReason } from '../../contract/context.ts'
import type { GenerationRecord } from '../../contract/usage.ts'

/** The server's metrics. Labels come from closed sets: route patterns and model ids, never URLs. */
export type Metrics = {
  requestStarted(): void
  requestEnded(route: string, status: number): void
  generationEnded(record: GenerationRecord): void
  requestCancelled(reason: CancelReason): void
  /** A turn of a conversation differs from the one before, so that the cache of its prompt is lost. */
  promptDiverged(model: string): void
  /** The Prometheus exposition text. */
  render(): Promise<string>
  readonly contentType: string
}
