import type { UpstreamFailure } from '../transport/upstream-error.ts'
import { isTransient } from './failure-outcome.ts'

/** What happened so far to a request that is tried on one replica after the other. */
export type RetryState = {
  /** Failed attempts since the reply last advanced. */
  readonly failures: number
  /** How often a reply that had advanced was resumed. */
  readonly continuations: number
  /** Runs from the first failure since the reply last advanced: a long reply is not limited. Same clock as `nowMs`. */
  readonly deadlineMs: number | undefined
  /** Replicas that failed the request since the reply last advanced. */
  readonly failed: ReadonlySet<string>
  /** Replicas that cannot do the request. */
  readonly unfit: ReadonlySet<string>
}

/** How far the reply has come when an attempt fails. */
export type Progress = {
  /** This attempt generated something. */
  readonly hasAdvanced: boolean
  /** The client has part of the reply: from here on, it can only be continued. */
  readonly hasBegun: boolean
  /** The replica's kind can continue the reply, and the reply is one that can be continued. */
  readonly canContinue: boolean
}

/** How an attempt ended that did not succeed. */
export type FailedAttempt =
  /** Nothing was sent: the replica cannot do the request. */
  | { readonly type: 'unfit'; readonly replicaId: string }
  | { readonly type: 'failed'; readonly replicaId: string; readonly failure: UpstreamFailure; readonly progress: Progress }

export type ReplicaStatus = {
  readonly id: string
  /** It was probed successfully at least once. */
  readonly isKnown: boolean
  /** Its breaker is closed and no Retry-After is running. */
  readonly isUsable: boolean
}

export type Situation = {
  readonly replicas: readonly ReplicaStatus[]
  readonly nowMs: number
  /** From 0 to below 1. */
  random(): number
}

export type Decision =
  | { readonly type: 'give-up' }
  /** Try again after `delayMs`; a reply that has begun is continued, not repeated. */
  | { readonly type: 'try-again'; readonly delayMs: number; readonly state: RetryState }

const maxFailures = 4
/** A server that sends nonsense, or half of a reply, rarely does better a third time. */
const maxOddReplies = 2
/** A reply that breaks again and again is what breaks the replicas; from then on, a break counts as any other failure. */
const maxContinuations = 8
const retryForMs = 60_000
const maxWaitMs = 15_000
const firstDelayMs = 100
const maxDelayMs = 5000
const giveUp: Decision = { type: 'give-up' }

/** The state of a request that was not tried yet. */
export const untried: RetryState = {
  failures: 0,
  continuations: 0,
  deadlineMs: undefined,
  failed: new Set(),
  unfit: new Set(),
}

/** Which replicas the next attempt avoids and never uses, and how long it may wait for one. */
export function nextAttempt({ failed, unfit }: RetryState, replicaCount: number, isAuxiliary: boolean) {
  return {
    // When all have failed, none is worse than another.
    avoid: failed.size < replicaCount ? failed : new Set<string>(),
    unfit,
    // Auxiliary requests do not wait for the one replica that could answer them.
    waitMs: isAuxiliary && unfit.size > 0 ? 0 : maxWaitMs,
  }
}

/** Whether, when and in which state a request is tried again after an attempt that did not succeed. */
export function decide(state: RetryState, attempt: FailedAttempt, situation: Situation): Decision {
  switch (attempt.type) {
    case 'unfit': {
      const unfit = new Set([...state.unfit, attempt.replicaId])
      const hasOther = situation.replicas.some(({ id, isKnown }) => isKnown && !unfit.has(id))
      return hasOther ? { type: 'try-again', delayMs: 0, state: { ...state, unfit } } : giveUp
    }
    case 'failed':
      return decideOnFailure(afterFailure(state, attempt, situation.nowMs), attempt, situation)
  }
}

type Failed = Extract<FailedAttempt, { type: 'failed' }>

function afterFailure(state: RetryState, { replicaId, progress }: Failed, nowMs: number): RetryState {
  const { continuations, unfit } = state
  const deadlineMs = nowMs + retryForMs
  if (progress.hasAdvanced && continuations < maxContinuations) {
    return { failures: 1, continuations: continuations + 1, deadlineMs, failed: new Set([replicaId]), unfit }
  }
  const failed = new Set([...state.failed, replicaId])
  return { failures: state.failures + 1, continuations, deadlineMs: state.deadlineMs ?? deadlineMs, failed, unfit }
}

/** `state` includes the failure. */
function decideOnFailure(state: RetryState, { failure, progress }: Failed, { replicas, nowMs, random }: Situation): Decision {
  const { failures, deadlineMs, failed, unfit } = state
  const hasAlternative = replicas.some(({ id, isUsable }) => isUsable && !failed.has(id) && !unfit.has(id))
  const isOdd = failure.type === 'malformed' || failure.type === 'incomplete'
  if (failures >= (isOdd ? maxOddReplies : maxFailures)) return giveUp
  if (!isTransient(failure) && !(isReplicaSpecific(failure) && hasAlternative)) return giveUp
  if (progress.hasBegun && !progress.canContinue) return giveUp
  // Nothing is left to continue of a reply that the server declares complete.
  if (failure.type === 'incomplete' && failure.saidDone && progress.hasBegun) return giveUp
  const delayMs = delayOf(failure, { failures, hasAlternative, random })
  if (deadlineMs !== undefined && nowMs + delayMs >= deadlineMs) return giveUp
  return { type: 'try-again', delayMs, state }
}

/** A wrong key or a missing model: another replica may accept the same request. */
function isReplicaSpecific(failure: UpstreamFailure): boolean {
  return failure.type === 'status' && [401, 403, 404].includes(failure.status)
}

type DelayOptions = { readonly failures: number; readonly hasAlternative: boolean; random(): number }

/** Full jitter, so that requests that failed together do not retry together. */
function delayOf(failure: UpstreamFailure, { failures, hasAlternative, random }: DelayOptions): number {
  // The client is reading the reply: it goes on at once.
  if (failure.type === 'truncated' && hasAlternative) return 0
  const jitterMs = Math.round(random() * Math.min(maxDelayMs, firstDelayMs * 2 ** (failures - 1)))
  // Retry-After does not bind another replica.
  const retryAfterMs = failure.type === 'status' && !hasAlternative ? (failure.retryAfterMs ?? 0) : 0
  return retryAfterMs + jitterMs
}
