import type { AppError } from '../contract/errors.ts'
import type { ModelViewer, Principal } from '../contract/principal.ts'
import type { SealerOf } from '../contract/sealer.ts'
import type { Catalogue } from '../contract/server/catalogue.ts'
import type { Shared } from '../contract/server/shared.ts'
import type { Store } from '../contract/store.ts'
import type { Cancellations } from '../core/cancel/cancellations.ts'
import type { AnswerDeps } from '../core/tool-loop/deps.ts'

/** The dependencies of the service of stored responses. */
export type ResponsesDeps = AnswerDeps & {
  readonly models: Pick<Catalogue, 'find'>
  /** Adds the caller's default model to a body without one. */
  withModel(body: unknown, viewer: ModelViewer): unknown
  readonly cancellations: Cancellations
  readonly sealerOf: SealerOf
  /** All processes with the same store, and those of this server; absent: there are no others. */
  readonly everyone?: Pick<Shared, 'publish' | 'lock'>
  /** Absent: nothing is stored, and requests that need it are refused. */
  readonly store?: Store
  /** The error in the form that this caller may see. */
  shownTo(principal: Principal, error: AppError): AppError
  /** Reports a failure that no caller waits for, such as an unreachable database. `id`: the response's. */
  onFailure(error: unknown, what: string, id?: string): void
  /** Milliseconds of the epoch. */
  wallClock(): number
}
