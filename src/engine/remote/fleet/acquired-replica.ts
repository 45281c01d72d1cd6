import type { AffinityOutcome } from '../../../contract/attempts.ts'
import type { LoadReport } from '../servers/load-report.ts'
import type { Upstream } from '../servers/upstream.ts'
import type { Endpoint } from '../transport/client.ts'
import type { RequestOutcome } from './pool.ts'

/** A replica, and the right to send it one request. */
export type AcquiredReplica = {
  readonly endpoint: Endpoint
  readonly upstream: Upstream
  /** Whether it has the prompt's longest known prefix. Absent for a request without affinity. */
  readonly affinity?: AffinityOutcome
  /** The reply has begun: a half-open replica takes more requests from now on. */
  confirm(): void
  reportLoad(load: LoadReport): void
  /** Records how many of the prompt's tokens the replica had cached. */
  learn(inputTokens: number, cachedTokens: number): void
  /** Tokens of the prompt that it probably has in its cache. */
  readonly cachedTokens: number
  /** The conversation returns here only if no other replica may be used. */
  leave(): void
  /** Ends the right. To be called exactly once. */
  release(outcome: RequestOutcome): void
  /** After a doubtful outcome: another replica has answered the same request. */
  blame(): void
}
