import type { CallerKeys } from '../../../contract/caller-keys.ts'
import { isCapabilityError } from '../servers/check-upstream.ts'
import { UpstreamError } from '../transport/upstream-error.ts'
import { callerAccess } from './caller-access.ts'
import { outcomeOfFailure } from './failure-outcome.ts'
import type { RequestOutcome } from './pool.ts'
import type { AcquiredReplica, Replicas } from './replicas.ts'
import { decide, type FailedAttempt, nextAttempt, type Progress, untried } from './retry-rule.ts'

export type RetryDeps = {
  readonly replicas: Pick<Replicas, 'count' | 'acquire' | 'statuses' | 'pause' | 'throwIfClosed'>
  now(): number
  random(): number
}

/** A request that any replica of the model may do. */
export type ReplicaTask<T> = {
  /** Its likely cost. */
  readonly tokens: number
  readonly affinityKeys: readonly string[]
  /** Not generation (tokenizing, say): its success does not show that the replica generates. */
  readonly isAuxiliary: boolean
  readonly signal: AbortSignal
  /** Used instead of a replica's own key. */
  readonly callerKeys?: CallerKeys | undefined
  /**
   * One exchange with a replica. Rejects with an `UpstreamError` when it fails, and with a capability error when the replica
   * cannot do the request, without sending it.
   */
  attempt(replica: AcquiredReplica): Promise<AttemptResult<T>>
  /** How far the reply has come when an attempt failed; undefined when the failure was not the replica's. */
  progress(replica: AcquiredReplica): Progress | undefined
}

/** `not-sent`: the result was known without the replica, which says nothing about its health. */
export type AttemptResult<T> = { readonly type: 'answered' | 'not-sent'; readonly value: T }

type AttemptEnd<T> = AttemptResult<T> | { readonly type: 'failed'; readonly error: unknown }

export const noProgress: Progress = { hasAdvanced: false, hasBegun: false, canContinue: false }

/** Tries the task on one replica after the other, as `decide` says. Rejects with the last failure. */
export async function tryReplicas<T>({ replicas, now, random }: RetryDeps, task: ReplicaTask<T>): Promise<T> {
  const { tokens, affinityKeys, isAuxiliary, signal } = task
  let state = untried
  while (true) {
    const { waitMs, avoid, unfit } = nextAttempt(state, replicas.count, isAuxiliary)
    const acquiring = replicas.acquire({ tokens, affinityKeys, isAuxiliary, avoid, unfit }, waitMs, signal)
    const replica = acquiring instanceof Promise ? await acquiring : acquiring
    const own = callerAccess(task.callerKeys, replica)
    let end: AttemptEnd<T>
    try {
      end = await task.attempt(own === undefined ? replica : { ...replica, endpoint: own.endpoint, hideKey: own.output })
    } catch (error) {
      end = { type: 'failed', error: own === undefined ? error : own.clean(error) }
    }
    replica.release(outcomeOf(end, replica, signal))
    if (end.type !== 'failed') return end.value
    signal.throwIfAborted()
    replicas.throwIfClosed()
    const failed = failedAttempt(end.error, replica, task)
    if (failed === undefined) throw end.error
    const decision = decide(state, failed, { replicas: replicas.statuses(), nowMs: now(), random })
    if (decision.type === 'give-up') throw end.error
    state = decision.state
    if (decision.delayMs > 0) await replicas.pause(decision.delayMs, signal)
  }
}

function outcomeOf(end: AttemptEnd<unknown>, { endpoint }: AcquiredReplica, signal: AbortSignal): RequestOutcome {
  switch (end.type) {
    case 'answered':
      return { type: 'ok' }
    case 'not-sent':
      return { type: 'neutral' }
    case 'failed':
      return end.error instanceof UpstreamError && !signal.aborted ? outcomeOfFailure(end.error, endpoint) : { type: 'neutral' }
  }
}

/** Undefined when no replica is at fault: the error is the reader's, or ours. */
function failedAttempt(error: unknown, replica: AcquiredReplica, task: ReplicaTask<unknown>): FailedAttempt | undefined {
  const progress = task.progress(replica)
  const replicaId = replica.endpoint.id
  if (progress === undefined) return undefined
  if (isCapabilityError(error)) return { type: 'unfit', replicaId }
  return error instanceof UpstreamError ? { type: 'failed', replicaId, failure: error.failure, progress } : undefined
}
