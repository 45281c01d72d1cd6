import type { UpstreamClient } from './client.ts'
import { outcomeOf } from './lease-outcome.ts'
import type { LeaseOutcome } from './pool.ts'
import { longestRetryMs, longestWaitMs, type Replicas } from './replicas.ts'
import { planRetry } from './retry.ts'
import type { Asked } from './tokenizer.ts'
import { failureOf } from './upstream-failure.ts'

export type AskDeps = { readonly client: UpstreamClient; readonly replicas: Replicas; now(): number; random(): number }

/** Asks one server something that any of them can answer, and another when that one fails. `tokens`: what it is likely to cost. */
export async function askServers<T>(
  { client, replicas, now, random }: AskDeps,
  { tokens, signal }: { readonly tokens: number; readonly signal: AbortSignal },
  question: (asked: Asked) => Promise<T>,
): Promise<T> {
  const failed = new Set<string>()
  const deadlineMs = now() + longestRetryMs
  for (let attempt = 1; ; attempt++) {
    const exclude = failed.size < replicas.count ? failed : new Set<string>()
    const { endpoint, target, lease } = await replicas.acquire({ tokens, affinityKeys: [], exclude }, longestWaitMs, signal)
    let outcome: LeaseOutcome = { type: 'neutral' }
    try {
      const answer = await question({ client, endpoint, target, signal })
      outcome = { type: 'ok' }
      return answer
    } catch (thrown) {
      if (signal.aborted) throw signal.reason
      replicas.throwIfClosed()
      const failure = failureOf(thrown)
      if (failure === undefined) throw thrown
      outcome = outcomeOf(failure, thrown)
      failed.add(endpoint.id)
      const hasAlternative = replicas.hasAlternative(failed)
      const question = { failure, attempt, isEventSent: false, canContinue: false, hasAlternative, deadlineMs }
      const decision = planRetry({ ...question, nowMs: now(), random })
      if (decision.type === 'give-up') throw thrown
      lease.release(outcome, now())
      await replicas.pause(decision.delayMs, signal)
    } finally {
      lease.release(outcome, now())
    }
  }
}
