import type { FailureRow } from './failure-table.ts'

/** The history of a request that is tried on one replica after the other. */
export type RetryState = {
  /** Failed attempts since the reply last advanced. */
  readonly failures: number
  /** It was moved away from a silent replica. */
  readonly hasMoved: boolean
  /** How often a reply that had advanced was resumed. */
  readonly continuations: number
  /** The replicas of doubtful failures, which may be the request's own fault: it gets two. */
  readonly doubts: readonly string[]
  /** Counted from the first failure since the reply last advanced, so that a long reply is not limited. Same clock as `nowMs`. */
  readonly deadlineMs: number | undefined
  /** Replicas that failed the request since the reply last advanced. */
  readonly failed: ReadonlySet<string>
  /** Those of them that are not asked again while their breaker is open. A router is, if there is no other. */
  readonly failedServers: ReadonlySet<string>
  /** Replicas that do not support the request. */
  readonly unfit: ReadonlySet<string>
}

/** The progress of the reply when an attempt fails. */
export type Progress = {
  /** This attempt generated something. */
  readonly hasAdvanced: boolean
  /** The client has part of the reply, which can only be continued from now on. */
  readonly hasBegun: boolean
  /** Both the replica's kind and the reply allow a continuation. */
  readonly canContinue: boolean
}

/** How an unsuccessful attempt ended. */
export type FailedAttempt =
  /** Nothing was sent: the replica does not support the request. */
  | { readonly type: 'unfit'; readonly replicaId: string }
  | {
      readonly type: 'failed'
      readonly replicaId: string
      readonly row: FailureRow
      /** The replica is a router, which tries its own servers. */
      readonly isRouter?: true | undefined
      readonly retryAfterMs?: number | undefined
      readonly lastedMs: number
      readonly progress: Progress
    }

/** The rule's view of the replicas. Usable: the breaker is closed, and no Retry-After is running. */
export type Fleet = {
  /** Whether a replica outside of this set was probed successfully. */
  hasKnown(except: ReadonlySet<string>): boolean
  isUsable(id: string): boolean
  /** Whether there is a usable replica outside of these sets. */
  hasUsable(...except: readonly ReadonlySet<string>[]): boolean
}

export type Situation = {
  readonly fleet: Fleet
  readonly nowMs: number
  /** From 0 to below 1. */
  random(): number
}

export type Decision =
  | { readonly type: 'give-up' }
  /** Try again after `delayMs`. A reply that has begun is continued, not repeated. */
  | { readonly type: 'try-again'; readonly delayMs: number; readonly state: RetryState }

const maxFailures = 4
/** A reply that breaks this often is itself what breaks the replicas. From then on, a break counts like any other failure. */
const maxContinuations = 8
/** Proxies end long replies, even of a healthy server: a break after this long counts as a new one. */
const longAttemptMs = 10_000
const retryForMs = 60_000
const maxWaitMs = 15_000
const firstDelayMs = 100
const routerBackMs = 1000
const maxDelayMs = 5000
const giveUp: Decision = { type: 'give-up' }

/** The state of a request before its first attempt. */
export const untried: RetryState = {
  failures: 0,
  hasMoved: false,
  continuations: 0,
  doubts: [],
  deadlineMs: undefined,
  failed: new Set(),
  failedServers: new Set(),
  unfit: new Set(),
}

/** The replicas that the next attempt avoids or excludes, and how long it may wait for one. */
export function nextAttempt({ failed, failedServers, unfit }: RetryState, replicaCount: number, isAuxiliary: boolean) {
  return {
    // If all have failed, there is nothing to avoid.
    avoid: failed.size < replicaCount ? failed : new Set<string>(),
    unfit,
    failed: failedServers,
    // Auxiliary requests do not wait for the one replica that could answer them.
    waitMs: isAuxiliary && unfit.size > 0 ? 0 : maxWaitMs,
  }
}

/** Decides whether and when to try a request again after an unsuccessful attempt, and in which state. */
export function decide(state: RetryState, attempt: FailedAttempt, situation: Situation): Decision {
  switch (attempt.type) {
    case 'unfit': {
      const unfit = new Set([...state.unfit, attempt.replicaId])
      return situation.fleet.hasKnown(unfit) ? { type: 'try-again', delayMs: 0, state: { ...state, unfit } } : giveUp
    }
    case 'failed':
      if (attempt.row.isMove === true) return { type: 'try-again', delayMs: 0, state: afterMove(state, attempt) }
      return decideOnFailure(afterFailure(state, attempt, situation), attempt, situation)
  }
}

type Failed = Extract<FailedAttempt, { type: 'failed' }>

/**
 * The request moved because another replica can take it. This is not a failure of the request, so it is tried again after any number of
 * moves.
 */
function afterMove(state: RetryState, { replicaId }: Failed): RetryState {
  const failed = new Set([...state.failed, replicaId])
  const failedServers = new Set([...state.failedServers, replicaId])
  return { ...state, hasMoved: true, failed, failedServers }
}

function afterFailure(state: RetryState, attempt: Failed, situation: Situation): RetryState {
  const { replicaId, progress, isRouter } = attempt
  const { continuations, unfit, hasMoved } = state
  const server = isRouter === true ? [] : [replicaId]
  const doubts = doubtsAfter(state, attempt, situation)
  const deadlineMs = situation.nowMs + retryForMs
  if (progress.hasAdvanced && continuations < maxContinuations) {
    const failed = { failed: new Set([replicaId]), failedServers: new Set(server) }
    return { failures: 1, hasMoved, continuations: continuations + 1, doubts, deadlineMs, ...failed, unfit }
  }
  const failed = new Set([...state.failed, replicaId])
  const failedServers = new Set([...state.failedServers, ...server])
  const failures = state.failures + 1
  return { failures, hasMoved, continuations, doubts, deadlineMs: state.deadlineMs ?? deadlineMs, failed, failedServers, unfit }
}

/** If the replica is down by now, that explains its earlier failures. */
function doubtsAfter({ doubts }: RetryState, attempt: Failed, { fleet }: Situation): readonly string[] {
  const { replicaId, row, lastedMs, progress } = attempt
  if (row.attempts !== 2) return doubts.filter((id) => id !== replicaId)
  if (row.isBreak === true && progress.hasAdvanced && lastedMs >= longAttemptMs) return [replicaId]
  return [...doubts.filter((id) => id === replicaId || fleet.isUsable(id)), replicaId]
}

/** `state` includes the failure. */
function decideOnFailure(state: RetryState, attempt: Failed, { fleet, nowMs, random }: Situation): Decision {
  const { row, progress } = attempt
  const { failures, doubts, deadlineMs, failed, unfit } = state
  const hasAlternative = fleet.hasUsable(failed, unfit)
  if (failures >= maxFailures || row.attempts === 1 || (row.attempts === 2 && doubts.length >= 2)) return giveUp
  if (row.elsewhereOnly === true && !hasAlternative) return giveUp
  if (progress.hasBegun && !(progress.canContinue && row.continues)) return giveUp
  if (attempt.isRouter === true && !progress.hasBegun && !mayTryRouter(attempt, { failures, hasAlternative })) return giveUp
  const delayMs = delayOf(attempt, { failures, hasAlternative, random })
  if (deadlineMs !== undefined && nowMs + delayMs >= deadlineMs) return giveUp
  return { type: 'try-again', delayMs, state }
}

/**
 * A router has tried several servers already, and would try them all again. So a second attempt is only for failures on the way to those
 * servers. On overload, the client repeats the request after the `Retry-After` that it gets.
 */
function mayTryRouter(
  { row: { atRouter } }: Failed,
  { failures, hasAlternative }: Pick<DelayOptions, 'failures' | 'hasAlternative'>,
): boolean {
  if (failures > 1 || atRouter === undefined) return false
  return atRouter === 'again' || hasAlternative
}

type DelayOptions = { readonly failures: number; readonly hasAlternative: boolean; random(): number }

/** Full jitter, so that requests that failed together do not retry together. */
function delayOf(attempt: Failed, { failures, hasAlternative, random }: DelayOptions): number {
  // The client is reading the reply: continue immediately.
  if (attempt.row.isBreak === true && hasAlternative) return 0
  // A router that restarts is back in a moment.
  if (attempt.isRouter === true && attempt.row.breaker === 'opens' && !hasAlternative) return routerBackMs
  const jitterMs = Math.round(random() * Math.min(maxDelayMs, firstDelayMs * 2 ** (failures - 1)))
  // The Retry-After of one replica does not bind another.
  const retryAfterMs = hasAlternative ? 0 : (attempt.retryAfterMs ?? 0)
  return retryAfterMs + jitterMs
}
