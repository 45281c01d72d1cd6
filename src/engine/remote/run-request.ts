import { AppError } from '../../core/errors.ts'
import type { EngineEvent, Usage } from '../../core/event.ts'
import type { GenerationRequest } from '../../core/request.ts'
import type { Target, UpstreamBody } from './chat-body.ts'
import type { UpstreamClient } from './client.ts'
import { outcomeOf } from './lease-outcome.ts'
import type { LeaseOutcome } from './pool.ts'
import type { Profile } from './profiles.ts'
import { asCut, readStream } from './read-reply.ts'
import { longestRetryMs, longestWaitMs, type Place, pause, type Replicas } from './replicas.ts'
import { ReplyReader } from './reply-reader.ts'
import { continued, requestBody } from './request-body.ts'
import { planRetry } from './retry.ts'
import { failureOf, withFailure } from './upstream-failure.ts'

export type RunDeps = {
  readonly client: UpstreamClient
  readonly replicas: Replicas
  /** Counts what a server did not count. */
  countUsage(place: Place, request: GenerationRequest, reader: ReplyReader): Promise<Usage>
  now(): number
  random(): number
  /** Tokens that a server sent after their request had been cancelled. */
  onLateTokens(count: number): void
}

/** One exchange, or as many as it takes: `request` asks for `choices` choices, the first of which is number `firstChoice`. */
export type RunPlan = {
  readonly request: GenerationRequest
  readonly choices: number
  readonly firstChoice: number
  readonly affinityKeys: readonly string[]
  /** What the request is likely to cost. */
  readonly tokens: number
  /** The request in the words of one target, made when it was checked. */
  readonly checked?: { readonly target: Target; readonly body: UpstreamBody }
}

/** `one-at-a-time`: nothing was asked, for the server whose turn it was makes no more than one choice. */
export type RunEnd = 'done' | 'one-at-a-time'

/**
 * Sends the request to a server, and to another when that one fails before anything came; what breaks off later is continued
 * by another where that can be done. Ends with `usage`, or throws. `leave` is called when all is over.
 */
export async function* runRequest(
  deps: RunDeps,
  plan: RunPlan,
  { signal, leave }: { readonly signal: AbortSignal; leave?(): void },
): AsyncGenerator<EngineEvent, RunEnd, void> {
  const { replicas, now } = deps
  const failed = new Set<string>()
  /** Counts from the first failure since anything came: how long an answer takes is nobody's business. */
  let deadlineMs: number | undefined
  let reader: ReplyReader | undefined
  try {
    for (let attempt = 1; ; attempt++) {
      const exclude = failed.size < replicas.count ? failed : new Set<string>()
      const place = await replicas.acquire({ exclude, ...plan }, longestWaitMs, signal)
      const { profile } = place.target
      let outcome: LeaseOutcome = { type: 'neutral' }
      try {
        if (plan.choices > 1 && !makesChoices(profile, plan.request)) return 'one-at-a-time'
        // Nothing was seen of an answer that has not begun: the next one need not be of the same kind.
        if (reader?.hasBegun === true) reader.resume(profile)
        else reader = new ReplyReader({ profile, ...plan })
        // All of it in this one generator: each that an event passes through costs as much as making the event.
        const { path, body } = bodyFor(plan, reader, place)
        const reply = await deps.client.stream(place.endpoint, { method: 'POST', path, body }, signal)
        try {
          for await (const values of readStream(reply)) {
            for (const value of values) {
              const events = reader.read(value)
              // Also when it merely tells how far it has read.
              place.lease.confirm()
              for (const event of events) {
                // What came with the last bytes is not wanted any more either.
                signal.throwIfAborted()
                yield event
              }
              if (reader.isCut) break
            }
            if (reader.isCut) break
          }
        } catch (error) {
          const thrown = asCut(error, signal)
          // The answer is whole when it has said how it ended; what broke off behind that are at most its counts.
          if (signal.aborted || failureOf(thrown)?.type !== 'cut' || !reader.isFinished) throw thrown
        } finally {
          if (reply.lateEvents > 0) deps.onLateTokens(reply.lateEvents)
        }
        signal.throwIfAborted()
        if (!reader.isFinished) throw endless()
        const counted = reader
        for (const event of await reader.end(() => deps.countUsage(place, plan.request, counted))) yield event
        outcome = { type: 'ok' }
        return 'done'
      } catch (thrown) {
        if (signal.aborted) throw signal.reason
        const failure = failureOf(thrown)
        if (failure === undefined || reader === undefined) throw reader?.isResumed === true ? stuck(thrown) : thrown
        outcome = outcomeOf(failure, thrown)
        if (reader.pieces > 0) {
          attempt = 1
          deadlineMs = undefined
          failed.clear()
        }
        deadlineMs ??= now() + longestRetryMs
        failed.add(place.endpoint.id)
        const decision = planRetry({
          failure,
          attempt,
          isEventSent: reader.hasBegun,
          canContinue: canContinue(plan.request, reader, place),
          hasAlternative: replicas.hasAlternative(failed),
          deadlineMs,
          nowMs: now(),
          random: deps.random,
        })
        if (decision.type === 'give-up') throw reader.isResumed ? stuck(thrown) : thrown
        place.lease.release(outcome, now())
        await pause(decision.delayMs, signal)
      } finally {
        place.lease.release(outcome, now())
      }
    }
  } finally {
    leave?.()
  }
}

function endless(): AppError {
  const message = 'the server behind this model ended its answer without saying how it finished'
  return withFailure(new AppError('engine-failed', message), { type: 'cut' })
}

/** The request in the server's words: as it was checked, or what is left of it when a part of the answer is there. */
function bodyFor(plan: RunPlan, reader: ReplyReader, place: Place): UpstreamBody {
  const { checked } = plan
  if (checked !== undefined && checked.target === place.target && !reader.hasBegun) return checked.body
  return requestBody(remaining({ ...plan.request, choices: plan.choices }, reader, place), place.target)
}

/** The request, or what is left of it when a part of the answer is there. */
function remaining(request: GenerationRequest, reader: ReplyReader, { target }: Place): GenerationRequest {
  const text = reader.continuable
  if (!reader.hasBegun || text === undefined) return request
  const rest = continued(request, { text, outputTokens: reader.outputTokens }, target)
  if (rest !== undefined) return rest
  throw new AppError('engine-failed', 'the server behind this model broke off, and no other can go on with its answer')
}

function canContinue(request: GenerationRequest, reader: ReplyReader, { target }: Place): boolean {
  const text = reader.continuable
  return text !== undefined && continued(request, { text, outputTokens: reader.outputTokens }, target) !== undefined
}

/** Why the rest of an answer is missing: never the caller's request, which was good enough to begin with. */
function stuck(thrown: unknown): AppError {
  const { message } = AppError.from(thrown)
  return new AppError('engine-failed', `the server behind this model broke off, and no other could go on: ${message}`)
}

function makesChoices({ choices, refusesEqualChoices }: Profile, { sampling }: GenerationRequest): boolean {
  return choices && !(refusesEqualChoices === true && sampling.temperature === 0)
}
