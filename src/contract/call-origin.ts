import type { AffinityOutcome, AttemptEnd, AttemptStart } from './attempts.ts'
import type { Lane } from './scheduler.ts'
import type { RequestTrace } from './tracing.ts'

/** Called with how the server of an attempt was chosen, before anything of its reply is here. */
export type OnPlaced = (affinity: AffinityOutcome) => void

/** Where a call comes from: what may be sent of that to the servers that do it for us. */
export type CallOrigin = {
  /** Unique; the id of the reply. */
  readonly id: string
  /** The id of the principal: the name of its key. */
  readonly caller: string
  readonly trace?: RequestTrace
  /** What the client calls its session. */
  readonly session?: string
  /** Absent: `interactive`. */
  readonly lane?: Lane
  readonly onPlaced?: OnPlaced
  /** Called with each attempt at a server, when it has ended. */
  readonly onAttempt?: (start: AttemptStart, end: AttemptEnd) => void
}
