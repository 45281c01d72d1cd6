import type { CallOrigin } from '../../../../contract/call-origin.ts'
import { AppError } from '../../../../contract/errors.ts'
import type { TraceContext } from '../../../../contract/tracing.ts'
import type { AcquiredReplica } from '../acquired-replica.ts'
import type { Replicas } from '../replicas.ts'
import type { Progress, RetryState } from '../retry/retry-rule.ts'
import type { Stop } from '../silence/silence.ts'

/** One attempt of a request. It can be ended without ending the request. */
type MovableAttempt = {
  /** Fires with the request's signal, or when the request moves to another replica. */
  readonly signal: AbortSignal
  /** To be called at the first token. */
  begun(): void
  /** To be called once, at the end of the attempt. Returns whether the replica has lost it: the conversation should not return there. */
  ended(): boolean
}

export type ReplicaAttempt = AcquiredReplica &
  Pick<MovableAttempt, 'signal' | 'begun'> & {
    /** The attempt's span in the trace. Absent: the request's. */
    readonly trace?: TraceContext
  }

export type MovableTask = {
  /** Not a generation but, say, tokenizing: its success does not show that the replica generates. */
  readonly isAuxiliary: boolean
  readonly signal: AbortSignal
  /** Absent: the engine itself. */
  readonly origin?: CallOrigin | undefined
  /** The tokens of the prompt: a replica may have them cached, and its time to the first token is judged by them. */
  readonly promptTokens?: number
  /** What is asked for instead of text: `promptTokens` is then its size in any unit. */
  readonly call?: string
  /** How far the reply had come when an attempt failed. Undefined if the replica was not at fault. */
  progress(replica: AcquiredReplica): Progress | undefined
  /** The bytes of the reply that the running attempt has received. */
  received?(): number
}

type Deps = Pick<Replicas, 'hasUsable'> & Partial<Pick<Replicas, 'watch'>>

/**
 * Watches an attempt. The request moves from a lost replica to a usable one if its reply has not begun or can be continued: once, and again
 * only from a dead replica. Auxiliary requests have their own time limit.
 */
export function beginAttempt(
  task: MovableTask,
  { replicas, replica, state }: { readonly replicas: Deps; readonly replica: AcquiredReplica; readonly state: RetryState },
): MovableAttempt {
  const { signal: caller } = task
  if (task.isAuxiliary || replicas.watch === undefined) return { signal: caller, begun: () => undefined, ended: () => false }
  const { endpoint, upstream, cachedTokens } = replica
  const moving = new AbortController()
  const onAbort = () => moving.abort(caller.reason)
  caller.addEventListener('abort', onAbort)
  const canMove = (isDead: boolean) => {
    if (state.hasMoved && !isDead) return false
    const progress = task.progress(replica)
    if (progress === undefined || (progress.hasBegun && !progress.canContinue)) return false
    return replicas.hasUsable(new Set([endpoint.id]), state.failed, state.unfit)
  }
  const { begun, ended } = replicas.watch({
    endpoint,
    promptTokens: task.promptTokens,
    call: task.call,
    cachedTokens,
    isBatching: upstream.profile.isBatching === true,
    received: () => task.received?.() ?? 0,
    canMove,
    end: (error) => moving.abort(error),
  })
  return {
    signal: moving.signal,
    begun,
    ended: () => {
      caller.removeEventListener('abort', onAbort)
      const isMoved = moving.signal.aborted && !caller.aborted
      return ended(stopOf(caller)) || isMoved
    },
  }
}

/** Undefined: it was not stopped. */
function stopOf({ aborted, reason }: AbortSignal): Stop | undefined {
  if (!aborted) return undefined
  return isTimeLimit(reason) ? 'limit' : 'caller'
}

/** Whether a request was stopped because its replica did not begin or continue its reply in time. */
export function isTimeLimit(reason: unknown): reason is AppError {
  return reason instanceof AppError && (reason.code === 'first-token-timeout' || reason.code === 'stall-timeout')
}
