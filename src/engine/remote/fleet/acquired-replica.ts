import type { LoadReport } from '../servers/load-report.ts'
import type { Upstream } from '../servers/upstream.ts'
import type { Endpoint } from '../transport/client.ts'
import type { Lease, RequestOutcome } from './pool.ts'

/** A replica, and the right to send it one request. */
export type AcquiredReplica = Pick<Lease<Endpoint>, 'endpoint' | 'affinity' | 'confirm' | 'learn' | 'cachedTokens'> & {
  readonly upstream: Upstream
  reportLoad(load: LoadReport): void
  /** The conversation returns here only if no other replica may be used. */
  leave(): void
  /** Ends the right. To be called exactly once. */
  release(outcome: RequestOutcome): void
  /** After a doubtful outcome: another replica has answered the same request. */
  blame(): void
}
