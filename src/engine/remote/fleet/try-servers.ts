import { isCapabilityError } from '../servers/check-upstream.ts'
import { UpstreamError } from '../transport/upstream-error.ts'
import { outcomeOf } from './lease-outcome.ts'
import type { LeaseOutcome } from './pool.ts'
import { longestRetryMs, longestWaitMs, type Place, type Replicas } from './replicas.ts'
import { planRetry } from './retry.ts'

export type TryDeps = { readonly replicas: Replicas; now(): number; random(): number }

/** What can be done by any of a model's servers. */
export type Errand<T> = {
  /** What it is likely to cost. */
  readonly tokens: number
  readonly affinityKeys: readonly string[]
  /** It is no work: that a server answers it does not show that it generates. */
  readonly isQuestion: boolean
  readonly signal: AbortSignal
  /**
   * One exchange with the server whose turn it is, which has served well when this resolves. Rejects with an inability
   * (`isCapabilityError`), and without having asked, when this server cannot do it.
   */
  run(place: Place): Promise<T>
  /** How far it got when an exchange failed; undefined: it was not the server that failed. */
  progress(place: Place): Progress | undefined
}

export type Progress = {
  /** Something came of the last exchange. */
  readonly hasMoved: boolean
  /** The caller has seen something of the answer: from here on it can only be continued. */
  readonly isEventSent: boolean
  readonly canContinue: boolean
}

export const noProgress: Progress = { hasMoved: false, isEventSent: false, canContinue: false }

/** An answer that breaks off again and again is what breaks the servers; after so many times it counts as any failure. */
const mostContinuations = 8

/** Runs it with a server, and with another when that one fails, as long as it may still succeed. Rejects with the last failure. */
export async function tryServers<T>({ replicas, now, random }: TryDeps, errand: Errand<T>): Promise<T> {
  const { tokens, affinityKeys, isQuestion, signal } = errand
  const failed = new Set<string>()
  const unfit = new Set<string>()
  /** Counts from the first failure since anything came: how long an answer takes is nobody's business. */
  let deadlineMs: number | undefined
  let continuations = 0
  for (let attempt = 1; ; attempt++) {
    const exclude = failed.size < replicas.count ? failed : new Set<string>()
    // What is merely asked does without the server that can, while that one is away.
    const waitMs = isQuestion && unfit.size > 0 ? 0 : longestWaitMs
    const place = await replicas.acquire({ tokens, affinityKeys, exclude, unfit, isQuestion }, waitMs, signal)
    let outcome: LeaseOutcome = { type: 'neutral' }
    try {
      const result = await errand.run(place)
      outcome = { type: 'ok' }
      return result
    } catch (thrown) {
      if (signal.aborted) throw signal.reason
      replicas.throwIfClosed()
      const progress = errand.progress(place)
      if (progress === undefined) throw thrown
      if (isCapabilityError(thrown)) {
        unfit.add(place.endpoint.id)
        if (!replicas.knowsOther(unfit)) throw thrown
        attempt -= 1
        continue
      }
      if (!(thrown instanceof UpstreamError)) throw thrown
      outcome = outcomeOf(thrown)
      const { hasMoved, isEventSent, canContinue } = progress
      if (hasMoved && continuations < mostContinuations) {
        continuations += 1
        attempt = 1
        deadlineMs = undefined
        failed.clear()
      }
      deadlineMs ??= now() + longestRetryMs
      failed.add(place.endpoint.id)
      const hasAlternative = replicas.hasAlternative(new Set([...failed, ...unfit]))
      const decision = planRetry({
        failure: thrown.failure,
        attempt,
        isEventSent,
        canContinue,
        hasAlternative,
        deadlineMs,
        nowMs: now(),
        random,
      })
      if (decision.type === 'give-up') throw thrown
      place.lease.release(outcome, now())
      await replicas.pause(decision.delayMs, signal)
    } finally {
      place.lease.release(outcome, now())
    }
  }
}
