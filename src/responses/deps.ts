import type { AppError } from '../contract/errors.ts'
import type { ModelViewer, Principal } from '../contract/principal.ts'
import type { SealerOf } from '../contract/sealer.ts'
import type { Catalogue } from '../contract/server/catalogue.ts'
import type { Siblings } from '../contract/server/siblings.ts'
import type { Store } from '../contract/store.ts'
import type { Cancellations } from '../core/cancel/cancellations.ts'
import type { AnswerDeps } from '../core/tool-loop/deps.ts'

/** What the service of stored responses gets from the layers around it. */
export type ResponsesDeps = AnswerDeps & {
  readonly models: Pick<Catalogue, 'find'>
  /** A body with the caller's default model, if it names none. */
  withModel(body: unknown, viewer: ModelViewer): unknown
  readonly cancellations: Cancellations
  readonly sealerOf: SealerOf
  /** The other processes of this server; absent: there is one. */
  readonly siblings?: Pick<Siblings, 'lock' | 'cancels'>
  /** Absent: nothing is stored, and requests that need it are refused. */
  readonly store?: Store
  /** The error as this caller may see it. */
  shownTo(principal: Principal, error: AppError): AppError
  /** Reports a failure that no caller waits for, such as a database that is gone. `id` is the response's. */
  onFailure(error: unknown, what: string, id?: string): void
  /** Milliseconds of the epoch. */
  wallClock(): number
}
