import type { AffinityOutcome, AttemptEnd, AttemptStart } from './attempts.ts'
import type { Lane } from './scheduler.ts'
import type { RequestTrace } from './tracing.ts'

/** Called with how the server of an attempt was chosen, before any of its reply arrives. */
export type OnPlaced = (affinity: AffinityOutcome) => void

/** The origin of a call, as far as the servers that work for us may know it. */
export type CallOrigin = {
  /** Unique; also the id of the reply. */
  readonly id: string
  /** The id of the principal: the name of its key. */
  readonly caller: string
  readonly trace?: RequestTrace
  /** The client's name for its session. */
  readonly session?: string
  /** Absent: `interactive`. */
  readonly lane?: Lane
  readonly onPlaced?: OnPlaced
  readonly onAttempt?: (start: AttemptStart, end: AttemptEnd) => void
}
