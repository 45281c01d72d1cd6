import type { CallerKeys } from '../../../../contract/caller-keys.ts'
import { AppError } from '../../../../contract/errors.ts'
import { isCapabilityError } from '../../servers/check-upstream.ts'
import { toAppError, UpstreamError, type UpstreamFailure } from '../../transport/upstream-error.ts'
import type { AcquiredReplica } from '../acquired-replica.ts'
import type { AffinityKey } from '../affinity/affinity.ts'
import type { RequestOutcome } from '../pool.ts'
import type { Replicas } from '../replicas.ts'
import { type FailureRow, type KeyOwner, rowOf } from '../retry/failure-table.ts'
import type { RetryBudget, SettleRetry } from '../retry/retry-budget.ts'
import { decide, type FailedAttempt, type Fleet, nextAttempt, type Progress, untried } from '../retry/retry-rule.ts'
import { type CallerAccess, callerAccess } from './caller-access.ts'
import { beginAttempt, type MovableTask, type ReplicaAttempt } from './movable-attempt.ts'
import { type ReplyFacts, type WatchDeps, watchAttempts } from './watch-attempt.ts'

export type RetryDeps = WatchDeps & {
  readonly replicas: Pick<Replicas, 'count' | 'acquire' | 'pause' | 'throwIfClosed'> & Fleet & Partial<Pick<Replicas, 'watch'>>
  random(): number
  /** Absent: unlimited. */
  readonly budget?: RetryBudget
}

/** A request that any replica of the model may do. */
export type ReplicaTask<T> = MovableTask & {
  /** Its likely cost. */
  readonly tokens: number
  readonly affinityKeys: readonly AffinityKey[]
  /** Identifies the client: its key and session, or a substitute. Absent: no particular client. */
  client?(): string
  /** Used instead of a replica's own key. */
  readonly callerKeys?: CallerKeys | undefined
  /**
   * One exchange with a replica. Rejects with an `UpstreamError` if it fails, and with a capability error, without sending, if the replica
   * does not support the request.
   */
  attempt(replica: ReplicaAttempt): Promise<AttemptResult<T>>
}

/** `not-sent`: the result was known without the replica, and says nothing about its health. */
export type AttemptResult<T> =
  | { readonly type: 'answered'; readonly value: T; readonly facts?: ReplyFacts }
  | { readonly type: 'not-sent'; readonly value: T }

type AttemptEnd<T> = AttemptResult<T> | { readonly type: 'failed'; readonly error: unknown }

export const noProgress: Progress = { hasAdvanced: false, hasBegun: false, canContinue: false }

/** Tries the task on one replica after the other, as `decide` says. Rejects with the last failure. */
export async function tryReplicas<T>(deps: RetryDeps, task: ReplicaTask<T>): Promise<T> {
  const { replicas, now, random, budget } = deps
  const { tokens, promptTokens = 0, affinityKeys, isAuxiliary, signal } = task
  let state = untried
  const suspects: Suspect[] = []
  const watch = watchAttempts(deps, task)
  if (!isAuxiliary) budget?.begin(now())
  let settle: SettleRetry | undefined
  while (true) {
    const { waitMs, avoid, unfit, failed: tried } = nextAttempt(state, replicas.count, isAuxiliary)
    const wanted = { tokens, promptTokens, affinityKeys, isAuxiliary, avoid, unfit, failed: tried }
    const acquiring = replicas.acquire(wanted, waitMs, signal)
    const replica = acquiring instanceof Promise ? await acquiring : acquiring
    const own = callerAccess(task.callerKeys, replica)
    const beganMs = now()
    const movable = beginAttempt(task, { replicas, replica, state })
    const confirm = suspects.length === 0 ? replica.confirm : confirming(replica, task, suspects)
    const { signal: attemptSignal, begun } = movable
    const trace = watch?.began(replica)
    const seen = {
      signal: attemptSignal,
      begun,
      ...replica,
      endpoint: own?.endpoint ?? replica.endpoint,
      confirm: watch?.noting(confirm) ?? confirm,
      ...(trace !== undefined && { trace }),
    }
    let end: AttemptEnd<T>
    try {
      end = await task.attempt(seen)
    } catch (error) {
      end = { type: 'failed', error: own === undefined ? error : own.clean(error) }
    } finally {
      if (movable.ended()) replica.leave()
    }
    const row = rowOfEnd(end, keyOwner(replica, own), signal)
    const outcome = outcomeOf(end, row, replica.endpoint.isRouter === true ? (task.client?.() ?? '') : undefined)
    replica.release(outcome)
    settle?.(end.type !== 'failed' || signal.aborted, now())
    settle = undefined
    watch?.ended(end, outcome)
    if (end.type === 'answered') blame(suspects, replica, () => true)
    if (end.type !== 'failed') return end.value
    signal.throwIfAborted()
    replicas.throwIfClosed()
    const failed = failedAttempt(end.error, { replica, row, task, lastedMs: now() - beganMs })
    if (failed === undefined) throw end.error
    if (failed.type === 'failed' && row?.breaker === 'compared') suspects.push({ replica, hadBegun: failed.progress.hasBegun })
    const decision = decide(state, failed, { fleet: replicas, nowMs: now(), random })
    if (decision.type === 'give-up') throw givenUp(end.error, replica)
    state = decision.state
    if (row?.isAnswer === true && budget !== undefined) {
      settle = budget.take(now(), replicas.hasUsable(state.failed, state.unfit))
      if (settle === undefined) throw givenUp(end.error, replica)
    }
    if (decision.delayMs > 0) await replicas.pause(decision.delayMs, signal)
  }
}

/** A replica with a doubtful failure of this request, and whether the reply had begun by then. */
type Suspect = { readonly replica: AcquiredReplica; readonly hadBegun: boolean }

/** Another replica succeeds where these failed: the failures were theirs. */
function blame(suspects: Suspect[], { endpoint }: AcquiredReplica, isShown: (suspect: Suspect) => boolean): void {
  for (const suspect of suspects.splice(0)) {
    if (!isShown(suspect)) suspects.push(suspect)
    else if (suspect.replica.endpoint.id !== endpoint.id) suspect.replica.blame()
  }
}

/** The first output of one replica shows that the suspects without output are at fault. */
function confirming(replica: AcquiredReplica, task: ReplicaTask<unknown>, suspects: Suspect[]): () => void {
  return () => {
    replica.confirm()
    if (task.progress(replica)?.hasAdvanced === true) blame(suspects, replica, ({ hadBegun }) => !hadBegun)
  }
}

function keyOwner({ endpoint }: AcquiredReplica, own: CallerAccess | undefined): KeyOwner {
  if (own !== undefined) return 'callers'
  return endpoint.apiKey === undefined ? 'none' : 'ours'
}

/** Undefined if the exchange itself did not fail: answered, cancelled, not sent, or our own error. */
function rowOfEnd(end: AttemptEnd<unknown>, key: KeyOwner, signal: AbortSignal): FailureRow | undefined {
  if (end.type !== 'failed' || signal.aborted) return undefined
  return end.error instanceof UpstreamError ? rowOf(end.error.failure, key) : undefined
}

/** `client`: the replica is a router, and this client sent the request. */
function outcomeOf(end: AttemptEnd<unknown>, row: FailureRow | undefined, client: string | undefined): RequestOutcome {
  if (end.type === 'answered') return { type: 'ok' }
  if (end.type === 'not-sent' || row === undefined || !(end.error instanceof UpstreamError)) return { type: 'neutral' }
  const { failure, message: reason } = end.error
  if (client !== undefined && row.breaker !== 'opens') return outcomeAtRouter(row.breaker, reason, client)
  switch (row.breaker) {
    case 'opens':
      return { type: 'failed', reason, isRefused: true }
    case 'counts':
      return { type: 'failed', reason }
    case 'compared':
      return { type: 'doubtful', reason }
    case 'busy':
      return { type: 'busy', retryAfterMs: retryAfterOf(failure) ?? 1000 }
    case 'trial':
      return { type: 'lost' }
    case 'nothing':
      return { type: 'neutral' }
  }
}

/** A failure behind a router concerns only that request, and load is the router's affair. */
function outcomeAtRouter(breaker: FailureRow['breaker'], reason: string, client: string): RequestOutcome {
  return breaker === 'counts' || breaker === 'compared' ? { type: 'doubtful', reason, client } : { type: 'neutral' }
}

/** If a server is away, or a router has no room, without saying for how long, the client should retry in a moment. */
function givenUp(error: unknown, { endpoint }: AcquiredReplica): unknown {
  if (!(error instanceof UpstreamError)) return error
  const { failure } = error
  const passing = endpoint.isRouter === true ? [429, 503, 529] : [503, 529]
  const mayPass = failure.type === 'connection' || (failure.type === 'status' && passing.includes(failure.status))
  if (!mayPass || retryAfterOf(failure) !== undefined) return error
  const { code, template, cause } = toAppError(error)
  return new AppError(code, template, { cause, retryAfterMs: 1000 })
}

type Ended = {
  readonly replica: AcquiredReplica
  readonly row: FailureRow | undefined
  readonly task: ReplicaTask<unknown>
  readonly lastedMs: number
}

/** Undefined if no replica is at fault: the error is the reader's, or ours. */
function failedAttempt(error: unknown, { replica, row, task, lastedMs }: Ended): FailedAttempt | undefined {
  const progress = task.progress(replica)
  const replicaId = replica.endpoint.id
  if (progress === undefined) return undefined
  if (isCapabilityError(error)) return { type: 'unfit', replicaId }
  if (row === undefined || !(error instanceof UpstreamError)) return undefined
  const retryAfterMs = retryAfterOf(error.failure)
  return { type: 'failed', replicaId, row, isRouter: replica.endpoint.isRouter, retryAfterMs, lastedMs, progress }
}

function retryAfterOf(failure: UpstreamFailure): number | undefined {
  return failure.type === 'status' ? failure.retryAfterMs : undefined
}
