import { type Emit, inTurn, WatchedEmit } from '../../core/emit.ts'
import { AppError } from '../../core/errors.ts'
import type { EngineEvent, Usage } from '../../core/event.ts'
import type { GrammarMaker } from '../../core/grammar/grammar-maker.ts'
import type { GenerationRequest } from '../../core/request.ts'
import type { Target, UpstreamBody } from './chat-body.ts'
import type { UpstreamClient } from './client.ts'
import { outcomeOf } from './lease-outcome.ts'
import type { LeaseOutcome } from './pool.ts'
import type { Profile } from './profiles.ts'
import { readStream } from './read-reply.ts'
import { longestRetryMs, longestWaitMs, type Place, type Replicas } from './replicas.ts'
import { ReplyReader } from './reply-reader.ts'
import { continued, requestBody } from './request-body.ts'
import { planRetry } from './retry.ts'
import { failureOf, withFailure } from './upstream-failure.ts'

export type RunDeps = {
  readonly client: UpstreamClient
  readonly replicas: Replicas
  readonly grammars: Pick<GrammarMaker, 'make'>
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

export type RunContext = { readonly signal: AbortSignal; readonly emit: Emit<EngineEvent> }

/** `one-at-a-time`: nothing was asked, for the server whose turn it was makes no more than one choice. */
export type RunEnd = 'done' | 'one-at-a-time'

/**
 * Sends the request to a server, and to another when that one fails before anything came; what breaks off later is continued
 * by another where that can be done. The last event is `usage`; rejects for everything else.
 */
export async function runRequest(deps: RunDeps, plan: RunPlan, { signal, emit }: RunContext): Promise<RunEnd> {
  const { replicas, now } = deps
  const failed = new Set<string>()
  /** Counts from the first failure since anything came: how long an answer takes is nobody's business. */
  let deadlineMs: number | undefined
  let reader: ReplyReader | undefined
  const watched = new WatchedEmit(emit)
  // What came with the last bytes is not wanted any more either.
  const emitWanted: Emit<EngineEvent> = (event) => {
    signal.throwIfAborted()
    return watched.emit(event)
  }
  for (let attempt = 1; ; attempt++) {
    const exclude = failed.size < replicas.count ? failed : new Set<string>()
    const { tokens, affinityKeys } = plan
    const place = await replicas.acquire({ tokens, affinityKeys, exclude }, longestWaitMs, signal)
    const { profile } = place.target
    let outcome: LeaseOutcome = { type: 'neutral' }
    try {
      if (plan.choices > 1 && !makesChoices(profile, plan.request)) return 'one-at-a-time'
      // Nothing was seen of an answer that has not begun: the next one need not be of the same kind.
      if (reader?.hasBegun === true) reader.resume(profile)
      else reader = new ReplyReader({ profile, request: plan.request, choices: plan.choices, firstChoice: plan.firstChoice })
      const current = reader
      const { path, body } = await bodyFor(deps, plan, { reader: current, place })
      const reply = await deps.client.stream(place.endpoint, { method: 'POST', path, body }, signal)
      const take = (value: unknown) => {
        const events = current.read(value)
        // Also when it merely tells how far it has read.
        place.lease.confirm()
        return inTurn(events, emitWanted)
      }
      try {
        await readStream(reply, take, () => current.isCut)
      } catch (error) {
        // The answer is whole when it has said how it ended; what broke off behind that are at most its counts.
        if (signal.aborted || failureOf(error)?.type !== 'cut' || !current.isFinished) throw error
      } finally {
        if (reply.lateEvents > 0) deps.onLateTokens(reply.lateEvents)
      }
      signal.throwIfAborted()
      if (!current.isFinished) throw endless()
      await inTurn(await current.end(() => deps.countUsage(place, plan.request, current)), emitWanted)
      outcome = { type: 'ok' }
      return 'done'
    } catch (thrown) {
      if (signal.aborted) throw signal.reason
      replicas.throwIfClosed()
      if (watched.hasFailed) throw thrown
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
      await replicas.pause(decision.delayMs, signal)
    } finally {
      place.lease.release(outcome, now())
    }
  }
}

function endless(): AppError {
  const message = 'the server behind this model ended its answer without saying how it finished'
  return withFailure(new AppError('engine-failed', message), { type: 'cut' })
}

/** The request in the server's words: as it was checked, or what is left of it when a part of the answer is there. */
function bodyFor(
  { grammars }: RunDeps,
  plan: RunPlan,
  { reader, place }: { readonly reader: ReplyReader; readonly place: Place },
): UpstreamBody | Promise<UpstreamBody> {
  const { checked } = plan
  if (checked !== undefined && checked.target === place.target && !reader.hasBegun) return checked.body
  return requestBody(remaining({ ...plan.request, choices: plan.choices }, reader, place), place.target, grammars)
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
