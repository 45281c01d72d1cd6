import type { CallOrigin } from '../../../contract/call-origin.ts'
import type { TraceContext } from '../../../contract/tracing.ts'
import type { AcquiredReplica, Replicas } from './replicas.ts'
import type { Progress, RetryState } from './retry/retry-rule.ts'

/** One attempt of a request, which can be ended without the request. */
export type MovableAttempt = {
  /** Fires with the request's signal, or when the request moves to another replica. */
  readonly signal: AbortSignal
  /** The first token is here. */
  begun(): void
  /** To be called once, at its end. */
  ended(): void
}

/** The replica of an attempt. */
export type ReplicaAttempt = AcquiredReplica &
  Pick<MovableAttempt, 'signal' | 'begun'> & {
    /** The place of the attempt in its trace; absent: that of the request. */
    readonly trace?: TraceContext
  }

/** What a task says of its attempts. */
export type MovableTask = {
  /** Not generation (tokenizing, say): its success does not show that the replica generates. */
  readonly isAuxiliary: boolean
  readonly signal: AbortSignal
  /** Absent: the engine itself. */
  readonly origin?: CallOrigin | undefined
  /** Those of its prompt: a replica may have them in its cache, and by them its time to the first token is judged. */
  readonly promptTokens?: number
  /** How far the reply has come when an attempt failed; undefined when the failure was not the replica's. */
  progress(replica: AcquiredReplica): Progress | undefined
  /** How much of the reply the running attempt has received, in bytes. */
  received?(): number
}

type Deps = Pick<Replicas, 'hasUsable'> & Partial<Pick<Replicas, 'watch'>>

/**
 * Watches an attempt: the request moves from a replica that is lost to one that can be used, where its reply can be continued
 * or has not begun: once, and again only from one that is dead. Auxiliary requests have a time limit of their own.
 */
export function beginAttempt(
  task: MovableTask,
  { replicas, replica, state }: { readonly replicas: Deps; readonly replica: AcquiredReplica; readonly state: RetryState },
): MovableAttempt {
  const { signal: caller } = task
  if (task.isAuxiliary || replicas.watch === undefined) return { signal: caller, begun: () => undefined, ended: () => undefined }
  const { id } = replica.endpoint
  const moving = new AbortController()
  const onAbort = () => moving.abort(caller.reason)
  caller.addEventListener('abort', onAbort)
  const canMove = (isDead: boolean) => {
    if (state.hasMoved && !isDead) return false
    const progress = task.progress(replica)
    if (progress === undefined || (progress.hasBegun && !progress.canContinue)) return false
    return replicas.hasUsable(new Set([id]), state.failed, state.unfit)
  }
  const { begun, ended } = replicas.watch({
    endpoint: replica.endpoint,
    promptTokens: task.promptTokens,
    received: () => task.received?.() ?? 0,
    canMove,
    end: (error) => moving.abort(error),
  })
  return {
    signal: moving.signal,
    begun,
    ended: () => {
      ended()
      caller.removeEventListener('abort', onAbort)
    },
  }
}
